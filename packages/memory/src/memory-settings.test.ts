import type { MemoryConfig } from "@selvedge/core/memory";
import { resolveOmConfig } from "./observational/om-config.ts";
import { describe, expect, it } from "vitest";
import { type MemorySettings, toMemoryConfig, toMemorySettings } from "./memory-settings.ts";

function settings(defaults: MemoryConfig, call?: MemoryConfig): MemorySettings {
  return toMemorySettings(defaults, call, { vector: true, embedder: true });
}

describe("toMemorySettings", () => {
  it("leaves a working memory to the observer that manages it, unless told otherwise", () => {
    const om = resolveOmConfig({ observation: { manageWorkingMemory: true } });
    const of = (given: object) =>
      toMemorySettings(
        { workingMemory: { enabled: true, ...given } },
        undefined,
        { vector: false, embedder: false },
        om,
      ).workingMemory;
    expect(of({})).toMatchObject({ agentManaged: false, useStateSignals: true });
    expect(of({ agentManaged: true, useStateSignals: false })).toMatchObject({
      agentManaged: true,
      useStateSignals: false,
    });
  });

  it("shows the last ten messages and nothing else unless asked", () => {
    expect(settings({})).toEqual({
      lastMessages: 10,
      recall: undefined,
      workingMemory: undefined,
      title: undefined,
      readOnly: false,
      observes: false,
    });
  });

  it("lets a call override the defaults key by key", () => {
    const base: MemoryConfig = { lastMessages: 3, semanticRecall: { topK: 9, scope: "thread" } };
    expect(settings(base, { semanticRecall: true }).recall).toMatchObject({ topK: 9, scope: "thread" });
    expect(settings(base, { semanticRecall: { topK: 2 } }).recall).toMatchObject({
      topK: 2,
      scope: "thread",
    });
    expect(settings(base, { semanticRecall: false, lastMessages: false })).toMatchObject({
      recall: undefined,
      lastMessages: 0,
    });
  });

  it("takes a range as a number or as before and after", () => {
    expect(settings({ semanticRecall: true }).recall).toMatchObject({
      topK: 4,
      before: 1,
      after: 1,
      scope: "resource",
    });
    expect(settings({ semanticRecall: { messageRange: 3 } }).recall).toMatchObject({ before: 3, after: 3 });
    expect(settings({ semanticRecall: { messageRange: { before: 0, after: 2 } } }).recall).toMatchObject({
      before: 0,
      after: 2,
    });
  });

  it("replaces the shape of the working memory when a call brings one", () => {
    const base: MemoryConfig = { workingMemory: { enabled: true, template: "# You" } };
    expect(settings(base).workingMemory).toMatchObject({
      scope: "resource",
      template: "# You",
      schema: undefined,
    });
    const schema = { type: "object" };
    expect(settings(base, { workingMemory: { schema } }).workingMemory).toMatchObject({
      scope: "resource",
      template: undefined,
      schema,
    });
    expect(settings(base, { workingMemory: { enabled: false } }).workingMemory).toBeUndefined();
  });

  it("finds the title option in its older place", () => {
    expect(settings({ generateTitle: true }).title).toEqual({});
    expect(
      settings({ threads: { generateTitle: true } }, { threads: { generateTitle: false } }).title,
    ).toBeUndefined();
  });

  it.each<[MemoryConfig, RegExp]>([
    [{ lastMessages: -1 }, /lastMessages must be a non-negative integer.*got -1/],
    [{ lastMessages: 1.5 }, /got 1\.5/],
    [{ lastMessages: Number.NaN }, /got NaN/],
    [{ semanticRecall: { topK: 0 } }, /topK must be a positive integer, got 0/],
    [{ semanticRecall: { messageRange: -1 } }, /messageRange.*got -1/],
    [{ semanticRecall: { threshold: 2 } }, /threshold.*got 2/],
    [{ semanticRecall: { scope: "world" as "thread" } }, /semanticRecall\.scope.*got "world"/],
    [
      { semanticRecall: "yes" as unknown as boolean },
      /semanticRecall must be true, false or an object, got "yes"/,
    ],
    [{ workingMemory: { enabled: true, scope: "agent" as "thread" } }, /workingMemory\.scope/],
    [{ workingMemory: { enabled: true, template: "a", schema: {} } }, /either a template or a schema/],
    [{ threads: { generateTitle: { instructions: 3 as unknown as string } } }, /instructions.*got 3/],
  ])("refuses %j with a message that says what is wrong", (config, message) => {
    expect(() => settings(config)).toThrow(message);
    expect(() => settings({}, config)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });

  it("names what semantic recall lacks", () => {
    const ask = (has: { vector: boolean; embedder: boolean }) => () =>
      toMemorySettings({ semanticRecall: true }, undefined, has);
    expect(ask({ vector: false, embedder: true })).toThrow(/no vector\. Pass `vector`/);
    expect(ask({ vector: true, embedder: false })).toThrow(/no embedder\. Pass `embedder`/);
    expect(ask({ vector: false, embedder: false })).toThrow(/no vector and no embedder/);
  });

  it("keeps one index name for all calls, so that deleting finds everything", () => {
    const base: MemoryConfig = { semanticRecall: { indexName: "mine" } };
    expect(settings(base, { semanticRecall: { topK: 1 } }).recall?.indexName).toBe("mine");
    expect(() => settings(base, { semanticRecall: { indexName: "other" } })).toThrow(/set once/);
  });
});

it.each([
  {},
  { lastMessages: false },
  { lastMessages: 3, semanticRecall: { topK: 2, messageRange: { before: 1, after: 0 }, threshold: 0.5 } },
  { workingMemory: { enabled: true, template: "# You", scope: "thread" }, readOnly: true },
  { threads: { generateTitle: { instructions: "Short." } } },
] as const)("says as a configuration what it means: %j", (config) => {
  expect(settings(toMemoryConfig(settings(config)))).toEqual(settings(config));
});
