import { InMemoryStorage } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { ADA, carefulObserver, LONG, omWorld } from "../__fixtures__/om-world.ts";

const file = (mediaType: string) => ({ type: "file" as const, data: btoa("some content"), mediaType });

describe('observeAttachments: "auto"', () => {
  it.each([
    [{}, ["image/png"]],
    [{ "application/pdf": [/./] }, ["image/png", "application/pdf"]],
    [{ "*": [/./] }, ["image/png", "application/pdf", "text/csv"]],
  ])("sends what the observer says it reads: %j", async (supportedUrls, sent) => {
    const world = omWorld({
      storage: new InMemoryStorage(),
      om: { observation: { observeAttachments: "auto" } },
      observer: carefulObserver,
    });
    Object.assign(world.observer, { supportedUrls });
    const files = ["image/png", "application/pdf", "text/csv"].map(file);
    const content = [{ type: "text" as const, text: `look ${LONG} ${LONG} ${LONG}` }, ...files];
    await world.agent.generate([{ role: "user", content }], { memory: ADA });
    await world.memory.settled();
    const [call] = world.observer.calls;
    const parts = call!.prompt.at(-1)!.content as { type: string; mediaType?: string }[];
    expect(parts.flatMap(({ type, mediaType }) => (type === "file" ? [mediaType] : []))).toEqual(sent);
    await world.agent.close();
  });
});
