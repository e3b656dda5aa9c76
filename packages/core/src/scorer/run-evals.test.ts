import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStore } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { createStep } from "../workflow/create-step.ts";
import { createWorkflow } from "../workflow/workflow.ts";
import { filterRun } from "./filter-run.ts";
import { runEvals } from "./run-evals.ts";
import { createScorer } from "./scorer.ts";
import { ScorerRunError } from "./scorer-run-error.ts";
import { extractTrajectoryFromTrace } from "./trajectory.ts";

const scorer = (id: string, score: (run: any) => number) =>
  createScorer({ id, description: id }).generateScore(({ run }) => score(run));
const steps = (id: string) =>
  createScorer({ id, description: id, type: "trajectory" }).generateScore(
    ({ run }) => run.output.steps.length,
  );
const parts = { id: "a", name: "A", instructions: "Answer." };

function weather(replies: string[] = ["Rain."]): Agent {
  const tool = createTool({
    id: "weather",
    description: "Weather",
    inputSchema: z.object({ city: z.string() }),
    execute: async () => "rain",
  });
  const calls = [{ toolCalls: [{ toolName: "weather", input: { city: "Oslo" } }] }, ...replies];
  return new Agent({ ...parts, model: scriptedModel(calls), tools: { weather: tool } });
}

describe("runEvals", () => {
  it("begins nothing more once an item has failed, however many run at once", async () => {
    const asked: string[] = [];
    const failed = Promise.withResolvers<void>();
    const evaluated = runEvals({
      target: {
        id: "target",
        generate: async (input: string) => {
          asked.push(input);
          if (input === "1") throw new Error("broken");
          await failed.promise;
          return { runId: input, scoringData: { input, output: [] } };
        },
      },
      data: Array.from({ length: 10 }, (_, index) => ({ input: String(index) })),
      scorers: [scorer("one", () => 1)],
      concurrency: 2,
    });
    await expect(evaluated).rejects.toThrow("broken");
    failed.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked).toEqual(["0", "1"]);
  });

  it("averages the scores of an agent by scorer, and stores them as tests", async () => {
    const storage = new InMemoryStore();
    const agent = new Agent({ ...parts, model: scriptedModel(() => "Yes.") });
    const mastra = new Mastra({ agents: { agent }, storage, logger: false });
    const done: unknown[] = [];
    const result = await runEvals({
      target: agent,
      data: [
        { input: "One?", groundTruth: 1 },
        { input: "Two?", groundTruth: 0 },
      ],
      scorers: [scorer("truth", (run) => run.groundTruth)],
      concurrency: 2,
      onItemComplete: ({ scorerResults }) => done.push(scorerResults["truth"]!.score),
    });
    expect(result).toEqual({ scores: { truth: 0.5 }, summary: { totalItems: 2 } });
    expect(new Set(done)).toEqual(new Set([0, 1]));
    const scores = (await storage.getStore("scores"))!;
    const { scores: stored } = await scores.listScoresByScorerId({ scorerId: "truth" });
    expect(stored.map(({ source, entityType, entityId }) => [source, entityType, entityId])).toEqual([
      ["TEST", "AGENT", "a"],
      ["TEST", "AGENT", "a"],
    ]);
    await mastra.close();
  });

  it("says failed if a gate is missed, scored if a threshold is, and passed otherwise", async () => {
    const verdict = async (
      gate: number,
      score: number,
      threshold: number | { min?: number; max?: number },
    ) => {
      const target = new Agent({ ...parts, model: scriptedModel(["Yes."]) });
      return runEvals({
        target,
        data: [{ input: "?" }],
        gates: [scorer("gate", () => gate)],
        scorers: [{ scorer: scorer("s", () => score), threshold }],
      });
    };
    expect(await verdict(0.9, 1, 0.5)).toMatchObject({
      verdict: "failed",
      gateResults: [{ id: "gate", passed: false, score: 0.9 }],
    });
    expect(await verdict(1, 0.4, 0.5)).toMatchObject({
      verdict: "scored",
      thresholdResults: [{ id: "s", passed: false, averageScore: 0.4, threshold: 0.5 }],
    });
    expect((await verdict(1, 0.4, { max: 0.5 })).verdict).toBe("passed");
  });

  it("gives trajectories to scorers of trajectories, live and in tests", async () => {
    const storage = new InMemoryStore();
    const result = await runEvals({
      target: weather(),
      data: [{ input: "Oslo?" }],
      scorers: { agent: [scorer("whole", (run) => run.output.length)], trajectory: [steps("steps")] },
    });
    expect(result.scores).toEqual({ agent: { whole: 1 }, trajectory: { steps: 1 } });
    const agent = weather();
    const mastra = new Mastra({
      agents: { agent },
      scorers: { steps: steps("steps") },
      storage,
      logger: false,
    });
    await agent.generate("Oslo?", { scorers: { steps: { scorer: "steps" } } });
    await agent.close();
    const { scores } = await (await storage.getStore("scores"))!.listScoresByScorerId({ scorerId: "steps" });
    expect(scores).toMatchObject([{ score: 1, entityType: "TRAJECTORY" }]);
    await mastra.close();
  });

  it("runs the turns of an item on one thread, with scorers of their own", async () => {
    const model = scriptedModel(["One.", "Two."]);
    const result = await runEvals({
      target: new Agent({ ...parts, model, memory: new Memory({ storage: new InMemoryStore() }) }),
      data: [
        {
          turns: [
            { input: "First", gates: [scorer("ok", () => 1)] },
            { input: "Second", scorers: [scorer("half", () => 0.5)] },
          ],
        },
      ],
      scorers: [scorer("messages", (run) => run.output.length)],
    });
    expect(result).toMatchObject({
      scores: { messages: 2 },
      verdict: "passed",
      turnResults: [
        { turn: 0, gateResults: [{ id: "ok", passed: true }] },
        { turn: 1, scores: { half: 0.5 } },
      ],
    });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("First");
  });

  it("scores a workflow, its steps and its trajectory", async () => {
    const add = createStep({
      id: "add",
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ n: z.number() }),
      execute: async ({ inputData }) => ({ n: inputData.n + 1 }),
    });
    const shape = { inputSchema: add.inputSchema!, outputSchema: add.outputSchema! };
    const target = createWorkflow({ id: "w", ...shape })
      .then(add)
      .commit();
    const result = await runEvals({
      target,
      data: [{ input: { n: 1 } }],
      scorers: {
        workflow: [scorer("whole", (run) => run.output.n)],
        steps: { add: [scorer("step", (run) => run.input.n)] },
        trajectory: [steps("count")],
      },
    });
    expect(result.scores).toEqual({
      workflow: { whole: 2 },
      steps: { add: { step: 1 } },
      trajectory: { count: 1 },
    });
  });

  it("refuses what it cannot evaluate", async () => {
    const target = new Agent({ ...parts, model: scriptedModel([]) });
    const one = [scorer("s", () => 1)];
    const refused = (options: object) => expect(runEvals({ target, data: [{ input: "?" }], ...options }));
    await refused({}).rejects.toThrow("at least one scorer or gate");
    await refused({ data: [], scorers: one }).rejects.toThrow("at least one item");
    await refused({ target: {}, scorers: one }).rejects.toThrow("an agent or a workflow");
    await refused({ concurrency: 0, scorers: one }).rejects.toThrow("concurrency");
    await refused({ data: [{}], scorers: one }).rejects.toThrow("one of input, inputs and turns");
  });
});

describe("a scorer", () => {
  it("keeps what the steps before a failed one returned, and what the judge was asked", async () => {
    const model = scriptedModel(["Because."]);
    const judged = createScorer({ id: "s", description: "", judge: { model, instructions: "Judge." } })
      .preprocess(() => ["a"])
      .generateScore(() => 1)
      .generateReason({ description: "", createPrompt: () => "Why?" });
    expect((await judged.run({ output: "" })).judge?.generateReason?.executions).toMatchObject([
      { status: "success", prompt: "Why?", output: "Because.", attemptCount: 1, modelCallCount: 1 },
    ]);
    const failing = judged.generateScore(() => Number.NaN);
    const error = await failing.run({ output: "" }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ScorerRunError);
    expect(error).toMatchObject({
      failedStep: "generateScore",
      completedSteps: ["preprocess"],
      result: { preprocessStepResult: ["a"] },
    });
  });

  it("scores only runs that meet its filter", async () => {
    const seen: string[] = [];
    const watch = scorer("watch", (run) => seen.push(run.runId));
    const filter = { op: "eq", left: { path: "entity.id" }, right: { literal: "a" } };
    const agent = new Agent({
      ...parts,
      model: scriptedModel(() => "Yes."),
      scorers: {
        mine: { scorer: watch, filter },
        other: { scorer: watch, filter: { op: "eq", left: { path: "source" }, right: { literal: "TEST" } } },
      },
    });
    const { scoringData } = await agent.generate("?", { runId: "r", returnScorerData: true });
    await agent.close();
    expect(seen).toEqual(["r"]);
    expect(scoringData?.input.inputMessages).toHaveLength(1);
    expect(scoringData?.output).toHaveLength(1);
  });

  it("reads only the messages and parts that filterRun keeps", async () => {
    const agent = weather();
    const { scoringData } = await agent.generate("Oslo?", { returnScorerData: true });
    const kept = filterRun({ partTypes: ["text"], includeSystemMessages: false })({ ...scoringData! });
    expect(
      kept.output.flatMap((message: any) => message.content.parts.map((part: any) => part.type)),
    ).toEqual(["text"]);
    expect(kept.input.systemMessages).toEqual([]);
    await agent.close();
  });

  it("makes a trajectory of spans", () => {
    const span = (id: string, type: string, parentSpanId?: string, more: object = {}) => ({
      id,
      type,
      parentSpanId,
      name: `x: '${id}'`,
      startTime: new Date(0),
      endTime: new Date(5),
      ...more,
    });
    const { steps: found, totalDurationMs } = extractTrajectoryFromTrace([
      span("agent", "agent_run"),
      span("chunk", "generic", "agent"),
      span("tool", "tool_call", "chunk", { input: { a: 1 }, output: 2 }),
    ]);
    expect(totalDurationMs).toBe(5);
    expect(found).toMatchObject([
      { stepType: "tool_call", name: "tool", toolArgs: { a: 1 }, toolResult: 2, success: true },
    ]);
  });
});
