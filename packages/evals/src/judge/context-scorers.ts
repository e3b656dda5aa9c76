import type { MastraScorer, ScorerRun } from "@selvedge/core/evals";
import { AgentError } from "@selvedge/core/errors";
import { questionAndAnswer } from "./answer-scorers.ts";
import { type JudgeModel, meanOf, verdictScorer } from "./verdict-scorer.ts";

interface ContextOptions {
  model: JudgeModel;
  options?: {
    /** The passages that the answer is based on. */
    context?: string[];
    contextExtractor?: (input: never, output: never) => string[];
    scale?: number;
  };
}

/** The share of claims that the context supports. */
export function createFaithfulnessScorer({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "faithfulness-scorer",
    name: "Faithfulness Scorer",
    description: "The share of claims that the context supports.",
    model,
    scale: options?.scale,
    task: "List the claims of the answer. `yes`: the context supports it. `unsure`: the context does not say. `no`: the context contradicts it.",
    material: withContext(options),
    score: meanOf({ yes: 1, unsure: 0, no: 0 }, 0),
  });
}

/** The share of claims that the context contradicts or does not support; lower is better. */
export function createHallucinationScorer({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "hallucination-scorer",
    name: "Hallucination Scorer",
    description: "The share of claims that the context does not support.",
    model,
    scale: options?.scale,
    task: "List the claims of the answer. `yes`: the context contradicts it or does not support it. `no`: the context supports it.",
    material: withContext(options),
    score: meanOf({ yes: 1, unsure: 1, no: 0 }, 0),
  });
}

/** Whether the relevant passages come first. */
export function createContextPrecisionScorer({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "context-precision-scorer",
    name: "Context Precision Scorer",
    description: "Mean average precision of the passages.",
    model,
    scale: options?.scale,
    task: "Go through the passages of the context, in order, one verdict each. `yes`: it helps to answer the question. `no`: it does not.",
    material: withContext(options),
    score: (verdicts) => {
      let relevant = 0;
      let sum = 0;
      for (const [index, { verdict }] of verdicts.entries())
        if (verdict === "yes") sum += ++relevant / (index + 1);
      return relevant === 0 ? 0 : sum / relevant;
    },
  });
}

/** The share of the expected answer's claims that the context covers. Needs `groundTruth`. */
export function createContextRecallScorer({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "context-recall-scorer",
    name: "Context Recall Scorer",
    description: "The share of the claims of the expected answer that the context covers.",
    model,
    scale: options?.scale,
    task: "List the claims of the expected answer. `yes`: the context contains it. `no`: it does not.",
    material: (run) => ({ ...withContext(options)(run), "Expected answer": expectedOf(run) }),
    score: meanOf({ yes: 1, unsure: 0, no: 0 }, 0),
  });
}

/** How relevant the passages are. */
export function createContextRelevanceScorerLLM({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "context-relevance-scorer",
    name: "Context Relevance Scorer",
    description: "The share of passages that are relevant to the question.",
    model,
    scale: options?.scale,
    task: "Go through the passages of the context, one verdict each. `yes`: it is relevant to the question. `unsure`: in part. `no`: it is not.",
    material: withContext(options),
    score: meanOf({ yes: 1, unsure: 0.5, no: 0 }, 0),
  });
}

/** How much of the expected answer the answer says. Needs `groundTruth`. */
export function createAnswerSimilarityScorer({ model, options }: ContextOptions): MastraScorer {
  return verdictScorer({
    id: "answer-similarity-scorer",
    name: "Answer Similarity Scorer",
    description: "The share of the claims of the expected answer that the answer makes.",
    model,
    scale: options?.scale,
    task: "List the claims of the expected answer. `yes`: the answer says the same. `unsure`: in part. `no`: it is missing or contradicted.",
    material: (run) => ({ ...questionAndAnswer(run), "Expected answer": expectedOf(run) }),
    score: meanOf({ yes: 1, unsure: 0.5, no: 0 }, 0),
  });
}

function withContext(options: ContextOptions["options"]) {
  return (run: ScorerRun): Record<string, string> => {
    const passages = options?.context ?? options?.contextExtractor?.(run.input as never, run.output as never);
    if (!passages?.length)
      throw new AgentError(
        "invalid-argument",
        "There is no context to compare with. Pass options: { context } or { contextExtractor }.",
      );
    return {
      ...questionAndAnswer(run),
      Context: passages.map((text, at) => `${at + 1}. ${text}`).join("\n"),
    };
  };
}

function expectedOf({ groundTruth }: ScorerRun): string {
  if (groundTruth === undefined || groundTruth === null)
    throw new AgentError("invalid-argument", "There is no expected answer. Pass groundTruth to run().");
  return typeof groundTruth === "string" ? groundTruth : JSON.stringify(groundTruth);
}
