import type { AgentChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { agentWith, chunksOf, listOf } from "../agent/__fixtures__/agent-with.ts";
import { createTool } from "../tool/tool.ts";
import { BatchPartsProcessor } from "./batch-parts.ts";
import type { Processor } from "./processor.ts";

const letters = (n: number): string[] => Array.from({ length: n }, (_, index) => String(index % 10));
const isText = (chunk: AgentChunk): boolean => chunk.type === "text-delta";

describe("BatchPartsProcessor", () => {
  it("joins five chunks of text, and sends the rest at the end of the text", async () => {
    const { agent } = agentWith([{ text: letters(12) }], { outputProcessors: [new BatchPartsProcessor()] });
    expect(await listOf((await agent.stream("go")).textStream)).toEqual(["01234", "56789", "01"]);
  });

  it("loses and reorders nothing, whatever the size, with reasoning and calls in between", async () => {
    const look = createTool({ id: "look", description: "", execute: async () => "seen" });
    const script = [
      { reasoning: letters(7), text: letters(9), toolCalls: [{ toolName: "look", input: { a: 1 } }] },
      { text: letters(4) },
    ];
    const types = (chunks: AgentChunk[]): string[] =>
      chunks.map(({ type }) => type).filter((type, at, all) => type !== all[at - 1]);
    const plain = await chunksOf(await agentWith(script, { tools: { look } }).agent.stream("go"));
    for (const batchSize of [1, 2, 3, 8, 100])
      for (const emitOnNonText of [true, false]) {
        const { agent } = agentWith(script, {
          tools: { look },
          outputProcessors: [new BatchPartsProcessor({ batchSize, emitOnNonText })],
        });
        const output = await agent.stream("go");
        expect(types(await chunksOf(output))).toEqual(types(plain));
        expect((await output.steps).map(({ text }) => text)).toEqual([
          letters(9).join(""),
          letters(4).join(""),
        ]);
      }
  });

  it("sends text when `maxWaitTime` is over, though no chunk comes", async () => {
    const next = Promise.withResolvers<void>();
    const hold: Processor = {
      id: "see",
      processOutputStream({ part }) {
        if (isText(part)) next.resolve();
        return part;
      },
    };
    const { agent } = agentWith([{ text: ["a", "b"], hang: { after: 4 } }], {
      outputProcessors: [new BatchPartsProcessor({ batchSize: 50, maxWaitTime: 5 }), hold],
    });
    const controller = new AbortController();
    const output = await agent.stream("go", { abortSignal: controller.signal });
    await next.promise;
    controller.abort();
    expect((await listOf(output.textStream)).join("").slice(0, 1)).toBe("a");
  });

  it("sends what waits when the run is aborted or the model breaks off", async () => {
    const broken = agentWith([{ text: letters(8), error: new Error("cut"), errorAfter: 5 }], {
      outputProcessors: [new BatchPartsProcessor({ batchSize: 100 })],
    });
    const output = await broken.agent.stream("go");
    const chunks = await chunksOf(output);
    expect(chunks.at(-1)!.type).toBe("error");
    const text = chunks
      .flatMap((chunk) => (chunk.type === "text-delta" ? [chunk.payload.text] : []))
      .join("");
    expect(text.length).toBeGreaterThan(2);
    expect(letters(8).join("").startsWith(text)).toBe(true);

    const controller = new AbortController();
    const stopper: Processor = {
      id: "stopper",
      processOutputStream({ part }) {
        if (isText(part) && (part as { payload: { text: string } }).payload.text === "3") controller.abort();
        return part;
      },
    };
    const aborted = agentWith([{ text: letters(8) }], {
      outputProcessors: [stopper, new BatchPartsProcessor({ batchSize: 100 })],
    });
    const cut = await chunksOf(await aborted.agent.stream("go", { abortSignal: controller.signal }));
    expect(cut.filter(isText).map((chunk) => (chunk as any).payload.text)).toEqual(["0123"]);
  });

  it("drops what waits when a processor ends the run", async () => {
    const stopper: Processor = {
      id: "stopper",
      processOutputStream({ part, abort }) {
        if (part.type === "text-delta" && part.payload.text === "3") abort("enough");
        return part;
      },
    };
    const { agent } = agentWith([{ text: letters(8) }], {
      outputProcessors: [stopper, new BatchPartsProcessor({ batchSize: 100, maxWaitTime: 1 })],
    });
    const chunks = await chunksOf(await agent.stream("go"));
    expect(chunks.some((chunk) => chunk.type === "tripwire")).toBe(true);
    expect(chunks.filter(isText)).toEqual([]);
  });

  it.each([
    ["batchSize", 0],
    ["batchSize", 1.5],
    ["maxWaitTime", -1],
    ["emitOnNonText", "yes"],
  ])("refuses %s of %s", (option, value) => {
    expect(() => new BatchPartsProcessor({ [option]: value })).toThrow(
      `\`${option}\` of BatchPartsProcessor`,
    );
  });
});
