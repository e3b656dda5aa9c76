import { describe, expect, test } from "vitest";
import { Extractor, WorkingMemoryExtractor } from "./extractor.ts";
import { isOnForCall, resolveOmConfig } from "./om-config.ts";
import { ModelByInputTokens } from "./model-by-input-tokens.ts";
import type { ObservationalMemoryOptions } from "./om-options.ts";

const resolve = (options: ObservationalMemoryOptions | true = true) => resolveOmConfig(options)!;

describe("observationalMemory", () => {
  test.each([undefined, false, { enabled: false }])("is off with %j", (options) => {
    expect(resolveOmConfig(options)).toBeUndefined();
  });

  test.each([true, {}, { enabled: true }])("has all defaults with %j", (options) => {
    expect(resolveOmConfig(options)).toEqual({
      scope: "thread",
      shareTokenBudget: false,
      temporalMarkers: false,
      retrieval: undefined,
      hooks: {},
      observation: {
        model: undefined,
        instruction: undefined,
        hints: { currentTask: true, suggestedResponse: true },
        extract: [],
        blockAfter: 1.2,
        activateAfterIdle: undefined,
        activateOnProviderChange: false,
        modelSettings: { temperature: 0.3, maxOutputTokens: 100_000 },
        providerOptions: { google: { thinkingConfig: { thinkingBudget: 215 } } },
        maxWaitMs: 30_000,
        hasThreshold: false,
        messageTokens: 30_000,
        bufferTokens: 0.2,
        bufferActivation: 0.8,
        bufferOnIdle: false,
        previousObserverTokens: 2000,
        maxTokensPerBatch: 10_000,
        threadTitle: false,
        manageWorkingMemory: false,
        observeAttachments: true,
      },
      reflection: {
        model: undefined,
        instruction: undefined,
        hints: { currentTask: true, suggestedResponse: true },
        extract: [],
        blockAfter: 1.2,
        activateAfterIdle: undefined,
        activateOnProviderChange: false,
        modelSettings: { temperature: 0, maxOutputTokens: 100_000 },
        providerOptions: { google: { thinkingConfig: { thinkingBudget: 1024 } } },
        maxWaitMs: 30_000,
        hasThreshold: false,
        observationTokens: 40_000,
        bufferActivation: 0.5,
      },
    });
  });

  test("has one model for both roles", () => {
    const { observation, reflection } = resolve({ model: "openai/gpt-5" });
    expect([observation.model, reflection.model]).toEqual(["openai/gpt-5", "openai/gpt-5"]);
  });

  test.each(["observation", "reflection"] as const)("uses the model of %s for the other role", (role) => {
    const { observation, reflection } = resolve({ [role]: { model: "openai/gpt-5" } });
    expect([observation.model, reflection.model]).toEqual(["openai/gpt-5", "openai/gpt-5"]);
  });

  test('leaves a role with "default" at the default model', () => {
    const { observation, reflection } = resolve({
      observation: { model: "openai/gpt-5" },
      reflection: { model: "default" },
    });
    expect([observation.model, reflection.model]).toEqual(["openai/gpt-5", undefined]);
    expect(reflection.modelSettings.maxOutputTokens).toBe(100_000);
  });

  test("limits the output of the default model only", () => {
    expect(resolve({ model: "openai/gpt-5" }).observation.modelSettings).toEqual({ temperature: 0.3 });
  });

  test.each([
    [300_000, 300_000],
    ["300000", 300_000],
    ["90s", 90_000],
    ["5m", 300_000],
    ["1hr", 3_600_000],
    ["1.5 h", 5_400_000],
    ["auto", "auto"],
    [false, undefined],
  ] as const)("reads activateAfterIdle: %j", (activateAfterIdle, expected) => {
    expect(resolve({ activateAfterIdle }).observation.activateAfterIdle).toBe(expected);
  });

  test("hands early activation down to observation, not to reflection", () => {
    const { observation, reflection } = resolve({ activateAfterIdle: "5m", activateOnProviderChange: true });
    expect(observation).toMatchObject({ activateAfterIdle: 300_000, activateOnProviderChange: true });
    expect(reflection).toMatchObject({ activateAfterIdle: undefined, activateOnProviderChange: false });
  });

  test("lets observation cancel early activation, and reflection have its own", () => {
    const { observation, reflection } = resolve({
      activateAfterIdle: "5m",
      activateOnProviderChange: true,
      observation: { activateAfterIdle: false, activateOnProviderChange: false },
      reflection: { activateAfterIdle: "1h", activateOnProviderChange: true },
    });
    expect(observation).toMatchObject({ activateAfterIdle: undefined, activateOnProviderChange: false });
    expect(reflection).toMatchObject({ activateAfterIdle: 3_600_000, activateOnProviderChange: true });
  });

  test.each([
    [true, { currentTask: true, suggestedResponse: true }],
    [false, { currentTask: false, suggestedResponse: false }],
    [{ currentTask: false }, { currentTask: false, suggestedResponse: true }],
  ])("reads continuationHints: %j", (continuationHints, hints) => {
    expect(resolve({ reflection: { continuationHints } }).reflection.hints).toEqual(hints);
  });

  test("adds an extractor for a working memory that the observer manages, once", () => {
    const own = new WorkingMemoryExtractor({ instructions: "Only the name." });
    const slugs = (extract: Extractor[]) =>
      resolve({ observation: { manageWorkingMemory: true, extract } }).observation.extract;
    expect(slugs([]).map(({ slug }) => slug)).toEqual(["working-memory"]);
    expect(slugs([own])).toEqual([own]);
  });

  test.each([
    [true, { vector: false, scope: "resource", instructions: undefined }],
    [
      { scope: "thread" as const, instructions: "Cite." },
      { vector: false, scope: "thread", instructions: "Cite." },
    ],
  ])("reads retrieval: %j", (retrieval, expected) => {
    expect(resolve({ retrieval }).retrieval).toEqual(expected);
  });

  test("searches by meaning where the memory has a vector store and an embedder", () => {
    const has = { vector: true, embedder: true };
    expect(resolveOmConfig({ retrieval: { vector: true } }, has)?.retrieval?.vector).toBe(true);
  });

  test("accepts a shared budget and resource scope together with buffering", () => {
    expect(resolve({ shareTokenBudget: true, scope: "resource" })).toMatchObject({ scope: "resource" });
  });

  test("has no blockAfter without buffering", () => {
    const { observation, reflection } = resolve({ observation: { bufferTokens: false } });
    expect([observation.blockAfter, reflection.blockAfter]).toEqual([undefined, undefined]);
  });
});

const named = (name: string, instructions: unknown = "Find it.") =>
  new Extractor({ name, instructions: instructions as string });

describe("refuses, with path and value,", () => {
  test.each<[string, unknown, string]>([
    ["observationalMemory", "yes", '"yes"'],
    ["observationalMemory.enabled", { enabled: 1 }, "1"],
    ["observationalMemory.model", { model: "a/b", observation: { model: "c/d" } }, '"a/b"'],
    ["observationalMemory.model", { model: "a/b", reflection: { model: "c/d" } }, '"a/b"'],
    ["observationalMemory.observation.model", { model: 5 }, "5"],
    ["observationalMemory.scope", { scope: "all" }, '"all"'],
    ["observationalMemory.activateAfterIdle", { activateAfterIdle: "soon" }, '"soon"'],
    ["observationalMemory.activateAfterIdle", { activateAfterIdle: -1 }, "-1"],
    [
      "observationalMemory.observation.activateAfterIdle",
      { observation: { activateAfterIdle: "5 parsecs" } },
      '"5 parsecs"',
    ],
    ["observationalMemory.reflection.activateAfterIdle", { reflection: { activateAfterIdle: NaN } }, "NaN"],
    ["observationalMemory.temporalMarkers", { temporalMarkers: "on" }, '"on"'],
    ["observationalMemory.hooks.onObservationEnd", { hooks: { onObservationEnd: "log" } }, '"log"'],
    ["observationalMemory.observation", { observation: 3 }, "3"],
    ["observationalMemory.observation.messageTokens", { observation: { messageTokens: 0 } }, "0"],
    ["observationalMemory.observation.messageTokens", { observation: { messageTokens: 10.5 } }, "10.5"],
    ["observationalMemory.observation.bufferTokens", { observation: { bufferTokens: 0 } }, "0"],
    ["observationalMemory.observation.bufferTokens", { observation: { bufferTokens: -1 } }, "-1"],
    ["observationalMemory.observation.bufferTokens", { observation: { bufferTokens: 30_000 } }, "30000"],
    ["observationalMemory.observation.bufferActivation", { observation: { bufferActivation: 0 } }, "0"],
    ["observationalMemory.observation.bufferActivation", { observation: { bufferActivation: 999 } }, "999"],
    [
      "observationalMemory.observation.bufferActivation",
      { observation: { bufferActivation: 30_000 } },
      "30000",
    ],
    ["observationalMemory.observation.blockAfter", { observation: { blockAfter: 0.9 } }, "0.9"],
    ["observationalMemory.observation.blockAfter", { observation: { blockAfter: 29_999 } }, "29999"],
    [
      "observationalMemory.observation.blockAfter",
      { observation: { bufferTokens: false, blockAfter: 2 } },
      "2",
    ],
    [
      "observationalMemory.reflection.blockAfter",
      { observation: { bufferTokens: false }, reflection: { blockAfter: 2 } },
      "2",
    ],
    ["observationalMemory.reflection.blockAfter", { reflection: { blockAfter: 39_999 } }, "39999"],
    [
      "observationalMemory.observation.previousObserverTokens",
      { observation: { previousObserverTokens: -1 } },
      "-1",
    ],
    [
      "observationalMemory.observation.previousObserverTokens",
      { observation: { previousObserverTokens: Infinity } },
      "Infinity",
    ],
    ["observationalMemory.observation.maxTokensPerBatch", { observation: { maxTokensPerBatch: 0 } }, "0"],
    [
      "observationalMemory.observation.observeAttachments",
      { observation: { observeAttachments: ["png"] } },
      '["png"]',
    ],
    ["observationalMemory.observation.maxWaitMs", { observation: { maxWaitMs: -1 } }, "-1"],
    ["observationalMemory.observation.instruction", { observation: { instruction: 1 } }, "1"],
    [
      "observationalMemory.observation.continuationHints",
      { observation: { continuationHints: "all" } },
      '"all"',
    ],
    ["observationalMemory.reflection.observationTokens", { reflection: { observationTokens: -5 } }, "-5"],
    ["observationalMemory.reflection.bufferActivation", { reflection: { bufferActivation: 0 } }, "0"],
    ["observationalMemory.reflection.bufferActivation", { reflection: { bufferActivation: 1.1 } }, "1.1"],
    [
      "observationalMemory.observation.extract[1].name",
      { observation: { extract: [named("Mood"), named("mood!")] } },
      '"mood!"',
    ],
    [
      "observationalMemory.observation.extract[0].name",
      { observation: { extract: [named("Current task")] } },
      '"Current task"',
    ],
    ["observationalMemory.reflection.extract[0].name", { reflection: { extract: [named("…")] } }, '"…"'],
    [
      "observationalMemory.observation.extract[0].instructions",
      { observation: { extract: [named("Mood", " ")] } },
      '" "',
    ],
    ["observationalMemory.observation.extract[0]", { observation: { extract: ["mood"] } }, '"mood"'],
    ["observationalMemory.retrieval.vector", { retrieval: { vector: true } }, "true"],
    ["observationalMemory.retrieval.scope", { retrieval: { scope: "world" } }, '"world"'],
  ])("%s of %j", (path, options, value) => {
    const attempt = () => resolveOmConfig(options as ObservationalMemoryOptions);
    expect(attempt).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(attempt).toThrow(`\`${path}\``);
    expect(attempt).toThrow(`got ${value}`);
  });
});

describe("a call", () => {
  test("can switch it off, by value or object", () => {
    expect(isOnForCall(undefined, resolve())).toBe(true);
    expect(isOnForCall(false, resolve())).toBe(false);
    expect(isOnForCall({ enabled: false }, resolve())).toBe(false);
    expect(isOnForCall(true, resolve())).toBe(true);
    expect(isOnForCall(undefined, undefined)).toBe(false);
  });

  test.each([
    [{ observation: { messageTokens: 5 } }, "observationalMemory.observation"],
    [{ model: "a/b" }, "observationalMemory.model"],
  ])("cannot change %j", (call, path) => {
    expect(() => isOnForCall(call, resolve())).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(() => isOnForCall(call, resolve())).toThrow(path);
  });

  test("cannot switch it on for a memory without it", () => {
    expect(() => isOnForCall(true, undefined)).toThrow("observationalMemory");
  });
});

describe("ModelByInputTokens", () => {
  const models = new ModelByInputTokens({ upTo: { 50_000: "b/large", 10_000: "a/small" } });

  test("takes the smallest bound that fits, inclusively", () => {
    expect([1, 10_000, 10_001, 50_000].map((tokens) => models.resolve(tokens))).toEqual([
      "a/small",
      "a/small",
      "b/large",
      "b/large",
    ]);
    expect(models.getThresholds()).toEqual([10_000, 50_000]);
  });

  test("throws above the largest bound", () => {
    expect(() => models.resolve(50_001)).toThrow("50001");
  });

  test.each([{}, { 0: "a/b" }, { many: "a/b" }, { 5: undefined }])("refuses %j", (upTo) => {
    expect(() => new ModelByInputTokens({ upTo: upTo as Record<number, string> })).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });
});

test.each([
  ["User Mood", "user-mood"],
  ["  Größe 2! ", "gro-e-2"],
  ["...", ""],
])("the slug of %j is %j", (name, slug) => {
  expect(named(name).slug).toBe(slug);
});
