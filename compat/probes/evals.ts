import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import { createScorer } from "@mastra/core/evals";
import { checks } from "@mastra/evals/checks";
import {
  createCompletenessScorer,
  createContentSimilarityScorer,
  createKeywordCoverageScorer,
  createTextualDifferenceScorer,
  createToolCallAccuracyScorerCode,
} from "@mastra/evals/scorers/prebuilt";
import {
  createAgentTestRun,
  createTestMessage,
  createToolInvocation,
  extractAgentResponseMessages,
  extractInputMessages,
  extractToolCalls,
  getAssistantMessageFromRunOutput,
  getCombinedSystemPrompt,
  getUserMessageFromRunInput,
} from "@mastra/evals/scorers/utils";
import { LibSQLStore } from "@mastra/libsql";
import { z } from "zod";
import { scripted } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

const BASE = { id: "s", description: "scores" };

function answered(question: string, answer: string, ...tools: string[]): any {
  const toolInvocations = tools.map((toolName) =>
    createToolInvocation({ toolCallId: toolName, toolName, args: {}, result: {}, state: "result" }),
  );
  return createAgentTestRun({
    inputMessages: [createTestMessage({ role: "user", content: question })],
    output: [createTestMessage({ role: "assistant", content: answer, toolInvocations } as any)],
  });
}

const scoreOf = async (scorer: any, run: any): Promise<number> =>
  Math.round((await scorer.run(run)).score * 1000) / 1000;

const PAIRS = [
  ["Weather in Paris", "The weather in Paris is sunny."],
  ["Weather in Paris", "Rain."],
  ["Compare apples and oranges", "Apples are red; oranges are orange."],
] as const;

async function overPairs(make: () => any): Promise<number[]> {
  const scores: number[] = [];
  for (const [question, answer] of PAIRS) scores.push(await scoreOf(make(), answered(question, answer)));
  return scores;
}

export const probes: Probes = {
  "steps run in order, each with the results of those before": async () => {
    const scorer = createScorer(BASE)
      .preprocess(({ run }: any) => run.output.length)
      .analyze(({ results }: any) => ({ half: results.preprocessStepResult / 2 }))
      .generateScore(({ results }: any) => results.analyzeStepResult.half / 10)
      .generateReason(({ score }: any) => `because ${score}`);
    const result = await scorer.run({ runId: "r", input: "q", output: "four" });
    return Object.fromEntries(Object.entries(result).filter(([, value]) => value !== undefined));
  },
  "a scorer has an id, a name and a description": () => {
    const { id, name, description } = createScorer(BASE);
    const named = createScorer({ ...BASE, name: "Named" }).name;
    return { id, name, description, named };
  },
  "a step that throws fails the run": () =>
    outcome(() =>
      createScorer(BASE)
        .generateScore(() => {
          throw new Error("boom");
        })
        .run({ output: 1 }),
    ),
  "an error says which step failed": onPurpose(
    "In `details.failedStep` and `details.completedSteps`, as errors have details here.",
    async () => {
      const scorer = createScorer(BASE).generateScore(() => {
        throw new Error("boom");
      });
      return scorer.run({ output: 1 }).catch((error: any) => error.failedStep ?? "(none)");
    },
  ),
  "a scorer without a score cannot run": () => outcome(() => createScorer(BASE).run({ output: 1 })),
  "a judge answers with a structure": async () => {
    const model = scripted(['{"good":true}', "Well done"]) as any;
    const scorer = createScorer({ ...BASE, judge: { model, instructions: "Judge." } })
      .analyze({
        description: "judges",
        outputSchema: z.object({ good: z.boolean() }),
        createPrompt: ({ run }: any) => `Good? ${run.output}`,
      })
      .generateScore(({ results }: any) => (results.analyzeStepResult.good ? 1 : 0))
      .generateReason({ description: "why", createPrompt: ({ score }: any) => `Why ${score}?` });
    const { score, reason, analyzePrompt, analyzeStepResult } = (await scorer.run({ output: "x" })) as any;
    return { score, reason, analyzePrompt, analyzeStepResult };
  },
  "a judge gives the score": async () => {
    const model = scripted(['{"score":0.3}']) as any;
    const scorer = createScorer({ ...BASE, judge: { model, instructions: "Judge." } }).generateScore({
      description: "rates",
      createPrompt: () => "How good?",
    });
    return (await scorer.run({ output: "x" })).score;
  },
  "prepareRun changes what is scored": async () => {
    const scorer = createScorer({
      ...BASE,
      prepareRun: (run: any) => ({ ...run, output: "long enough" }),
    }).generateScore(({ run }: any) => run.output.length);
    return (await scorer.run({ output: "x" })).score;
  },
  completeness: () => overPairs(createCompletenessScorer),
  "keyword coverage": () => overPairs(createKeywordCoverageScorer),
  "content similarity": () => overPairs(createContentSimilarityScorer),
  "textual difference": () => overPairs(createTextualDifferenceScorer),
  "tool call accuracy": async () => {
    const of = (options: any, ...tools: string[]) =>
      scoreOf(createToolCallAccuracyScorerCode(options), answered("q", "a", ...tools));
    return [
      await of({ expectedTool: "a" }, "b", "a"),
      await of({ expectedTool: "a" }),
      await of({ expectedTool: "a", strictMode: true }, "b", "a"),
      await of({ expectedToolOrder: ["a", "c"] }, "a", "b", "c"),
      await of({ expectedToolOrder: ["a", "c"], strictMode: true }, "a", "b", "c"),
    ];
  },
  "checks of texts": async () => {
    const run = answered("q", "It is Sunny");
    const { includes, excludes, equals, matches, similarity } = checks as any;
    const all = [
      includes("Sunny"),
      includes("sunny"),
      excludes("rain"),
      equals("It is Sunny"),
      matches(/sun/i),
      similarity("It is Sunny"),
    ];
    return Promise.all(all.map((scorer) => scoreOf(scorer, run)));
  },
  "checks of tools": async () => {
    const run = answered("q", "a", "x", "y");
    const { calledTool, didNotCall, toolOrder, maxToolCalls, usedNoTools, noToolErrors } = checks as any;
    const all = [
      calledTool("x"),
      calledTool("x", { times: 2 }),
      didNotCall("z"),
      toolOrder(["x", "y"]),
      toolOrder(["y", "x"]),
      maxToolCalls(1),
      usedNoTools(),
      noToolErrors(),
    ];
    return Promise.all(all.map((scorer) => scoreOf(scorer, run)));
  },
  "texts and tools of a run": () => {
    const { input, output } = answered("Question?", "Answer.", "t");
    return {
      user: getUserMessageFromRunInput(input),
      assistant: getAssistantMessageFromRunOutput(output),
      inputs: extractInputMessages(input),
      responses: extractAgentResponseMessages(output),
      tools: extractToolCalls(output).tools,
      system: getCombinedSystemPrompt(input),
    };
  },
  "an agent with scorers answers, and they get the conversation": async () => {
    let seen: any;
    const { promise, resolve } = Promise.withResolvers<void>();
    const scorer = createScorer({ ...BASE, type: "agent" }).generateScore(({ run }) => {
      seen = {
        asked: getUserMessageFromRunInput(run.input as any),
        answered: getAssistantMessageFromRunOutput(run.output as any),
      };
      resolve();
      return 1;
    });
    const agent = new Agent({
      id: "a",
      name: "A",
      instructions: "x",
      model: scripted(["Scored."]) as any,
      scorers: { s: { scorer, sampling: { type: "ratio", rate: 1 } } },
    });
    const mastra = new Mastra({
      agents: { agent },
      scorers: { s: scorer },
      storage: new LibSQLStore({ id: "evals", url: ":memory:" }),
      logger: false,
    });
    const { text } = await mastra.getAgent("agent").generate("Score me");
    await promise;
    return { text, seen };
  },
  "the host knows its scorers": () => {
    const scorer = createScorer(BASE).generateScore(() => 1);
    const mastra = new Mastra({ scorers: { mine: scorer as any }, logger: false });
    return {
      names: Object.keys(mastra.listScorers() ?? {}),
      byName: mastra.getScorer("mine").id,
      byId: mastra.getScorerById("s").id,
    };
  },
};
