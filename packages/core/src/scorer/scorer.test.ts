import { setTimeout as sleep } from "node:timers/promises";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { Agent } from "../agent/agent.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStore } from "../storage/in-memory-storage.ts";
import { createScorer } from "./scorer.ts";

const BASE = { id: "length", description: "How long the answer is." };

describe("createScorer", () => {
  it("runs its steps in order, each with the results of those before", async () => {
    const scorer = createScorer<string, string>(BASE)
      .preprocess(({ run }) => run.output.split(" "))
      .analyze(({ results }) => ({ words: results.preprocessStepResult.length }))
      .generateScore(async ({ results }) => results.analyzeStepResult.words / 10)
      .generateReason(({ score, results }) => `${results.analyzeStepResult.words} words: ${score}`);
    expect(await scorer.run({ input: "q", output: "one two", runId: "r" })).toEqual({
      runId: "r",
      input: "q",
      output: "one two",
      preprocessStepResult: ["one", "two"],
      analyzeStepResult: { words: 2 },
      score: 0.2,
      reason: "2 words: 0.2",
    });
  });

  it("asks a judge, and once more if the answer does not fit", async () => {
    const model = scriptedModel(["no idea", '{"good":true}', "Because it is good."]);
    const scorer = createScorer({ ...BASE, judge: { model, instructions: "Judge." } })
      .analyze({
        description: "judges",
        outputSchema: z.object({ good: z.boolean() }),
        createPrompt: ({ run }) => `Is this good? ${run.output}`,
      })
      .generateScore(({ results }) => (results.analyzeStepResult.good ? 1 : 0))
      .generateReason({ description: "explains", createPrompt: ({ score }) => `Why ${score}?` });
    expect(await scorer.run({ output: "tea" })).toMatchObject({
      score: 1,
      reason: "Because it is good.",
      analyzePrompt: "Is this good? tea",
      generateReasonPrompt: "Why 1?",
    });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("Your last answer was not usable");
  });

  it("says which step failed", async () => {
    const fails = createScorer(BASE)
      .preprocess(() => 1)
      .generateScore(() => {
        throw new Error("boom");
      });
    await expect(fails.run({ output: "" })).rejects.toMatchObject({
      message: 'The step generateScore of scorer "length" failed: boom',
      details: { failedStep: "generateScore", completedSteps: ["preprocess"] },
    });
    await expect(createScorer(BASE).run({ output: "" })).rejects.toThrow("Call generateScore()");
    expect(() => createScorer({ description: "" })).toThrow("A scorer needs an id");
    expect(() => createScorer(BASE).analyze({} as never)).toThrow("must be a function or have createPrompt");
    const asks = createScorer(BASE).generateReason({ description: "", createPrompt: () => "?" });
    await expect(asks.generateScore(() => 1).run({ output: "" })).rejects.toThrow("Pass judge");
  });
});

describe("scorers of an agent", () => {
  const scorer = createScorer({ ...BASE, type: "agent" })
    .generateScore(({ run }) => (run.output[0]?.content.parts.length ?? 0) / 10)
    .generateReason(({ run }) => JSON.stringify(run.input?.inputMessages[0]?.content.parts));
  const parts = { name: "A", instructions: "Answer.", model: scriptedModel(() => "Yes.") };

  it("score the runs that succeed and store the scores", async () => {
    const storage = new InMemoryStore();
    const agent = new Agent({ ...parts, id: "a", scorers: { length: { scorer } } });
    const mastra = new Mastra({ agents: { agent }, scorers: { scorer }, storage, logger: false });
    await agent.generate("Really?", { runId: "run-1" });
    await agent.close();
    const scores = (await storage.getStore("scores"))!;
    const found = await scores.listScoresByScorerId({ scorerId: "length" });
    expect(found.pagination).toEqual({ total: 1, page: 0, perPage: 100, hasMore: false });
    expect(found.scores[0]).toMatchObject({
      runId: "run-1",
      entityId: "a",
      entityType: "AGENT",
      source: "LIVE",
      score: 0.2,
      reason: expect.stringContaining("Really?"),
    });
    expect((await scores.listScoresByRunId({ runId: "run-1" })).scores).toEqual(found.scores);
    expect((await scores.listScoresByEntityId({ entityId: "a", entityType: "AGENT" })).scores).toHaveLength(
      1,
    );
    expect(await scores.getScoreById({ id: found.scores[0]!.id })).toEqual(found.scores[0]);
    expect(mastra.getScorerById("length")).toBe(mastra.getScorer("scorer"));
    await mastra.close();
  });

  it("score the share of runs that is asked for, and the same ones each time", async () => {
    const seen = async (rate: number, isEnabled = false): Promise<string[]> => {
      const ids: string[] = [];
      const note = createScorer(BASE).generateScore(({ run }) => ids.push(run.runId!));
      const sampling = { type: "ratio", rate } as const;
      const agent = new Agent({ ...parts, id: "s", scorers: { note: { scorer: note, sampling } } });
      for (let at = 0; at < 200; at++)
        await agent.generate("?", { runId: `run-${at}`, telemetry: { isEnabled } });
      await agent.close();
      return ids;
    };
    const some = await seen(0.25);
    expect(some.length).toBeGreaterThan(20);
    expect(some.length).toBeLessThan(90);
    expect(await seen(0.25)).toEqual(some);
    // Without an SDK of OpenTelemetry, every trace has the same id.
    expect(await seen(0.25, true)).toEqual(some);
    expect(await seen(0)).toEqual([]);
    expect(await seen(1)).toHaveLength(200);
  });

  it("neither delay nor break the answer", async () => {
    const warn = vi.fn<(...args: unknown[]) => void>();
    const { promise, reject } = Promise.withResolvers<number>();
    const late = createScorer(BASE).generateScore(() => promise);
    const logger = { debug() {}, info() {}, error() {}, warn };
    const agent = new Agent({ ...parts, id: "l", logger, scorers: { late: { scorer: late } } });
    expect((await agent.generate("?")).text).toBe("Yes.");
    await sleep(0);
    expect(warn).not.toHaveBeenCalled();
    reject(new Error("boom"));
    await expect.poll(() => warn.mock.calls.flat()[0]).toBe('Scorer "late" of agent "A" failed');
  });
});
