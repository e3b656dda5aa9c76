import { InMemoryStorage } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ADA, carefulObserver, LONG, omRows, omWorld, promptText } from "../__fixtures__/om-world.ts";
import { type ExtractedArgs, Extractor } from "./extractor.ts";

/** Notes as usual, with the tags of extractors. */
const observer =
  (tags: (index: number) => Record<string, string>) =>
  (call: Parameters<typeof carefulObserver>[0]): string =>
    [
      carefulObserver(call),
      ...Object.entries(tags(call.index)).map(([slug, value]) => `<${slug}>\n${value}\n</${slug}>`),
    ].join("\n");

const colour = { name: "Colour", instructions: "The user's favourite colour." };

describe("an extractor", () => {
  it("keeps its value with the notes, shows it to the agent and finds it again next time", async () => {
    const world = omWorld({
      storage: new InMemoryStorage(),
      om: { observation: { extract: [new Extractor(colour)] } },
      observer: observer((index) => ({ colour: index === 0 ? "red" : "blue" })),
    });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const second = world.observer.calls[1]!.prompt.map(promptText).join("\n");
    expect(second).toContain("red");
    const record = await world.memory.observationalMemory!.getRecord("t", "ada");
    expect(record!.metadata!["extracted"]).toEqual({ colour: "blue" });
    expect(world.model.calls.at(-1)!.prompt.map(promptText).join("\n")).toContain("blue");
    await world.agent.close();
  });

  it("keeps values that only one of several chunks has", async () => {
    const world = omWorld({
      storage: new InMemoryStorage(),
      om: { observation: { extract: [new Extractor(colour), new Extractor({ ...colour, name: "Town" })] } },
      observer: observer((index): Record<string, string> =>
        index === 0 ? { colour: "red" } : index === 1 ? { town: "Ulm" } : {},
      ),
    });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const record = await world.memory.observationalMemory!.getRecord("t", "ada");
    expect(record!.metadata!["extracted"]).toEqual({ colour: "red", town: "Ulm" });
    await world.agent.close();
  });

  it("stores the value that onExtracted returns, after the notes", async () => {
    const seen: ExtractedArgs<string>[] = [];
    const storage = new InMemoryStorage();
    const world = omWorld({
      storage,
      om: {
        observation: {
          extract: [
            new Extractor<string>({
              ...colour,
              onExtracted: async (args) => {
                expect((await omRows(storage)).chunks.length).toBeGreaterThan(0);
                seen.push(args);
                return args.current.toUpperCase();
              },
            }),
          ],
        },
      },
      observer: observer(() => ({ colour: "red" })),
    });
    for (let at = 0; at < 2; at++) await world.turn(`question ${at} ${LONG}`);
    const { chunks } = await omRows(storage);
    expect(chunks[0]!.hints).toMatchObject({ extracted: { colour: "RED" } });
    expect(seen[0]).toMatchObject({ current: "red", threadId: "t", resourceId: "ada" });
    expect(seen[0]!.cycleId).toBe(chunks[0]!.cycle_id);
    await world.memory.observationalMemory!.activate({ threadId: ADA.thread, resourceId: ADA.resource });
    for (let at = 2; at < 4; at++) await world.turn(`question ${at} ${LONG}`);
    expect(seen.at(-1)!.previous).toBe("RED");
    await world.agent.close();
  });

  it("keeps the other values when onExtracted throws, and says which one failed", async () => {
    const storage = new InMemoryStorage();
    const world = omWorld({
      storage,
      om: {
        observation: {
          extract: [
            new Extractor({
              ...colour,
              onExtracted: () => {
                throw new Error("no such colour");
              },
            }),
            new Extractor({ ...colour, name: "Town" }),
          ],
        },
      },
      observer: observer(() => ({ colour: "red", town: "Ulm" })),
    });
    for (let at = 0; at < 2; at++) await world.turn(`question ${at} ${LONG}`);
    const record = await world.memory.observationalMemory!.getRecord("t", "ada");
    expect(record!.bufferedObservationChunks![0]).toMatchObject({
      extractedValues: { colour: "red", town: "Ulm" },
      extractionFailures: [{ slug: "colour", error: "no such colour" }],
    });
    expect(world.warnings.map(({ message }) => message)).toContain(
      'onExtracted of "colour" threw (thread "t").',
    );
    await world.agent.close();
  });

  it("puts the value where metadataKeyPath says, and nowhere if it is false", async () => {
    const world = omWorld({
      storage: new InMemoryStorage(),
      om: {
        observation: {
          extract: [
            new Extractor({ ...colour, metadataKeyPath: "profile.look.colour" }),
            new Extractor({ ...colour, name: "Secret", metadataKeyPath: false }),
          ],
        },
      },
      observer: observer(() => ({ colour: "red", secret: "hush-hush" })),
    });
    for (let at = 0; at < 8; at++) await world.turn(`question ${at} ${LONG}`);
    const record = await world.memory.observationalMemory!.getRecord("t", "ada");
    expect(record!.metadata).toMatchObject({ profile: { look: { colour: "red" } } });
    expect(JSON.stringify(record!.metadata)).not.toContain("hush-hush");
    expect(world.model.calls.at(-1)!.prompt.map(promptText).join("\n")).not.toContain("hush-hush");
    await world.agent.close();
  });

  it("works for the reflector too, with a schema in a separate call", async () => {
    const world = omWorld({
      storage: new InMemoryStorage(),
      om: {
        reflection: {
          observationTokens: 60,
          extract: [new Extractor({ ...colour, schema: z.object({ name: z.string() }) })],
        },
      },
      reflector: ({ prompt }) =>
        promptText(prompt[0]).includes("favourite colour")
          ? '{"name":"green"}'
          : "<observations>\n* 🔴 all of it\n</observations>",
    });
    for (let at = 0; at < 10; at++) await world.turn(`question ${at} ${LONG}`);
    const record = await world.memory.observationalMemory!.getRecord("t", "ada");
    expect(record!.generationCount).toBeGreaterThan(0);
    expect(record!.metadata!["extracted"]).toEqual({ colour: { name: "green" } });
    await world.agent.close();
  });
});
