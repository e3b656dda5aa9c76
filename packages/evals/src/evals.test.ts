import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { checks } from "./checks.ts";
import {
  createAnswerRelevancyScorer,
  createCompletenessScorer,
  createContentSimilarityScorer,
  createContextPrecisionScorer,
  createFaithfulnessScorer,
  createHallucinationScorer,
  createKeywordCoverageScorer,
  createMultiTurnJudgeScorer,
  createNoiseSensitivityScorerLLM,
  createRubricScorer,
  createSummarizationScorer,
  createTextualDifferenceScorer,
  createToolCallAccuracyScorerCode,
  createToolCallAccuracyScorerLLM,
  createTrajectoryAccuracyScorerCode,
  createTrajectoryAccuracyScorerLLM,
  createTrajectoryScorerCode,
} from "./scorers/prebuilt.ts";
import {
  compareTrajectories,
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
  createTrajectoryTestRun,
  extractToolCalls,
  getAssistantMessageFromRunOutput,
  getUserMessageFromRunInput,
} from "./scorers/utils.ts";

const call = (toolName: string) => createToolInvocation({ toolCallId: toolName, toolName, args: {} });
const run = (question: string, answer: string, ...tools: string[]) =>
  createAgentTestRun({
    inputMessages: [createTestMessage({ role: "user", content: question })],
    output: [createTestMessage({ role: "assistant", content: answer, toolInvocations: tools.map(call) })],
  });

describe("scorers by rule", () => {
  it("compare question and answer", async () => {
    const scores = async (question: string, answer: string) => {
      const makers = [
        createCompletenessScorer,
        createKeywordCoverageScorer,
        createContentSimilarityScorer,
        createTextualDifferenceScorer,
      ];
      const results = await Promise.all(makers.map((make) => make().run(run(question, answer))));
      return results.map(({ score }) => Math.round(score * 100) / 100);
    };
    expect(await scores("Weather in Paris", "weather in paris")).toEqual([1, 1, 1, 0.88]);
    expect(await scores("Weather in Paris", "Paris: sunny")).toEqual([0.33, 0.5, 0.35, 0.36]);
    expect(await scores("naïve cafés", "cafe, naive")).toEqual([1, 0.5, 0.44, 0.36]);
    expect(await scores("", "")).toEqual([1, 1, 1, 1]);
  });

  it("check the tools", async () => {
    const score = async (
      options: Parameters<typeof createToolCallAccuracyScorerCode>[0],
      ...tools: string[]
    ) => (await createToolCallAccuracyScorerCode(options).run(run("?", "!", ...tools))).score;
    expect(await score({ expectedTool: "a" }, "b", "a")).toBe(1);
    expect(await score({ expectedTool: "a" })).toBe(0);
    expect(await score({ expectedTool: "a", strictMode: true }, "b", "a")).toBe(0);
    expect(await score({ expectedToolOrder: ["a", "c"] }, "a", "b", "c")).toBe(1);
    expect(await score({ expectedToolOrder: ["a", "c"], strictMode: true }, "a", "b", "c")).toBe(0);
    expect(() => createToolCallAccuracyScorerCode({})).toThrow("Pass expectedTool");
  });

  it("check an answer", async () => {
    const answered = run("?", "It is Sunny", "a", "b");
    const passes = async (scorer: ReturnType<typeof checks.includes>) => (await scorer.run(answered)).score;
    expect(await passes(checks.includes("Sunny"))).toBe(1);
    expect(await passes(checks.includes("sunny"))).toBe(1);
    expect(await passes(checks.includes("sunny", { ignoreCase: false }))).toBe(0);
    expect(await passes(checks.excludes("rain"))).toBe(1);
    expect(await passes(checks.equals("It is Sunny"))).toBe(1);
    expect(await passes(checks.matches(/sunny/gi))).toBe(1);
    expect(await passes(checks.similarity("It is Sunny", { threshold: 0.9 }))).toBe(1);
    expect(await passes(checks.calledTool("a"))).toBe(1);
    expect(await passes(checks.calledTool("a", { times: 2 }))).toBe(0);
    expect(await passes(checks.didNotCall("c"))).toBe(1);
    expect(await passes(checks.toolOrder(["a", "b"]))).toBe(1);
    expect(await passes(checks.maxToolCalls(1))).toBe(0);
    expect(await passes(checks.usedNoTools())).toBe(0);
    expect(await passes(checks.noToolErrors())).toBe(1);
  });

  it("read questions, answers and tools of a run", () => {
    const { input, output } = run("Q", "A", "t");
    expect(getUserMessageFromRunInput(input)).toBe("Q");
    expect(getAssistantMessageFromRunOutput(output)).toBe("A");
    expect(extractToolCalls(output).tools).toEqual(["t"]);
    expect(getUserMessageFromRunInput(undefined)).toBeUndefined();
  });
});

describe("scorers with a judge", () => {
  const judge = (...verdicts: string[]) =>
    scriptedModel(() =>
      JSON.stringify({ verdicts: verdicts.map((verdict) => ({ statement: "s", verdict, reason: "r" })) }),
    );

  it("turn verdicts into a score and a reason", async () => {
    const relevancy = createAnswerRelevancyScorer({ model: judge("yes", "unsure", "no") });
    const result = await relevancy.run(run("Q", "A"));
    expect(result.score).toBe(0.43);
    expect(result.reason).toContain("- unsure: s (r)");
    const options = { context: ["one", "two"] };
    const model = judge("no", "yes");
    expect((await createFaithfulnessScorer({ model, options }).run(run("Q", "A"))).score).toBe(0.5);
    expect((await createHallucinationScorer({ model, options }).run(run("Q", "A"))).score).toBe(0.5);
    expect((await createContextPrecisionScorer({ model, options }).run(run("Q", "A"))).score).toBe(0.5);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("1. one");
    const tools = createToolCallAccuracyScorerLLM({ model: judge("yes"), availableTools: [{ id: "t" }] });
    expect((await tools.run(run("Q", "A", "t"))).score).toBe(1);
  });

  it("throw where there is nothing to compare with", async () => {
    const scorer = createFaithfulnessScorer({ model: judge() });
    await expect(scorer.run(run("Q", "A"))).rejects.toThrow("There is no context to compare with");
  });
});

describe("scorers of trajectories", () => {
  const step = (name: string, more: object = {}) => ({ stepType: "tool_call" as const, name, ...more });
  const of = (...names: string[]) => ({ steps: names.map((name) => step(name)) });
  const expected = { steps: [{ name: "search" }, { name: "answer" }] };

  it("count the expected steps that were taken in order", async () => {
    const score = async (names: string[], options: object = {}) =>
      (
        await createTrajectoryAccuracyScorerCode({ expectedTrajectory: expected, ...options }).run(
          createTrajectoryTestRun({ output: of(...names) }),
        )
      ).score;
    expect(await score(["search", "answer"])).toBe(1);
    expect(await score(["search", "look", "answer"])).toBe(0.95);
    expect(await score(["answer"])).toBe(0.5);
    expect(await score(["answer", "search"])).toBeLessThan(0.5);
    const strict = { comparisonOptions: { strictOrder: true } };
    expect([await score(["search", "answer"], strict), await score(["search"], strict)]).toEqual([1, 0]);
    expect(compareTrajectories(of("answer", "search"), expected)).toMatchObject({
      outOfOrderSteps: ["answer"],
      missingSteps: [],
    });
    const nothing = createTrajectoryAccuracyScorerCode().run(createTrajectoryTestRun({ output: of() }));
    await expect(nothing).rejects.toThrow("no expected trajectory");
  });

  it("combine steps, cost, failures and what is forbidden", async () => {
    const score = async (steps: object[], defaults: object) =>
      (
        await createTrajectoryScorerCode({ defaults }).run(
          createTrajectoryTestRun({ output: { steps: steps as never } }),
        )
      ).score;
    const both = [step("search", { success: true }), step("answer", { success: true })];
    expect(await score(both, { steps: expected.steps, maxSteps: 2 })).toBe(1);
    expect(await score(both, { blacklistedTools: ["search"] })).toBe(0);
    expect(await score(both, { blacklistedSequences: [["search", "answer"]] })).toBe(0);
    expect(await score(both, { blacklistedSequences: [["answer", "search"]] })).toBe(1);
    // Efficiency 0 of weight 0.3, failures 1 of weight 0.2.
    expect(await score([step("a", { toolArgs: { x: 1 } }), step("a", { toolArgs: { x: 1 } })], {})).toBe(0.4);
    const failed = step("a", { success: false });
    expect(await score([failed, failed, failed], { noRedundantCalls: false, maxRetriesPerTool: 2 })).toBe(0);
  });
});

describe("more scorers with a judge", () => {
  const verdicts = (...all: string[]) =>
    JSON.stringify({ verdicts: all.map((verdict) => ({ statement: "s", verdict, reason: "r" })) });

  it("score criteria, conversations, summaries, noise and trajectories", async () => {
    const rubric = createRubricScorer({
      model: scriptedModel([verdicts("yes", "no")]),
      criteria: ["is short", { description: "is kind" }],
    });
    expect((await rubric.run(run("q", "a"))).score).toBe(0.5);
    const judge = createMultiTurnJudgeScorer({ model: scriptedModel([verdicts("yes")]), criterion: "kind" });
    expect((await judge.run(run("q", "a"))).score).toBe(1);
    const summary = createSummarizationScorer({ model: scriptedModel([verdicts("yes", "unsure")]) });
    expect((await summary.run(run("q", "a"))).score).toBe(0.75);
    const impact = (name: string) => ({ dimension: name, impact: name, reason: "" });
    const noise = createNoiseSensitivityScorerLLM({
      model: scriptedModel([JSON.stringify({ dimensions: [impact("none"), impact("moderate")] })]),
      options: { baselineResponse: "a", noisyQuery: "q?!" },
    });
    expect((await noise.run(run("q", "a"))).score).toBe(0.8);
    const steps = [{ name: "a", needed: true, inOrder: true }];
    const trajectory = createTrajectoryAccuracyScorerLLM({
      model: scriptedModel([JSON.stringify({ steps, missing: ["b"] })]),
    });
    const output = { steps: [{ stepType: "tool_call" as const, name: "a" }] };
    expect((await trajectory.run(createTrajectoryTestRun({ output }))).score).toBe(0.9);
    expect(() => createRubricScorer({ model: "m/m", criteria: [] })).toThrow("at least one criterion");
  });
});
