import { createScorer, type MastraScorer, type ScorerRun, type Trajectory } from "@selvedge/core/evals";
import { AgentError } from "@selvedge/core/errors";
import { runTexts } from "../run-texts.ts";
import { questionAndAnswer } from "./answer-scorers.ts";
import { INSTRUCTIONS, type JudgeModel, meanOf, verdictScorer } from "./verdict-scorer.ts";

interface Options<More = object> {
  model: JudgeModel;
  options?: { scale?: number } & More;
}

/** How true to its source a summary is, and how much of it it covers. The input is the source. */
export function createSummarizationScorer({ model, options: { scale } = {} }: Options): MastraScorer {
  return verdictScorer({
    id: "summarization-scorer",
    name: "Summarization Scorer",
    description: "Whether a summary is true to its source and complete.",
    model,
    scale,
    task: "The question contains a text, and the answer is its summary. List the main facts of the text and the claims of the summary. `yes`: the fact is in the summary, or the text supports the claim. `unsure`: in part. `no`: it is not.",
    material: questionAndAnswer,
    score: meanOf({ yes: 1, unsure: 0.5, no: 0 }, 1),
  });
}

/** The share of criteria that an answer meets. */
export function createRubricScorer({
  model,
  criteria: given,
  options = {},
}: {
  model: JudgeModel;
  criteria?: readonly (string | { description: string })[];
  options?: { scale?: number; criteria?: readonly (string | { description: string })[] };
}): MastraScorer {
  const criteria = (given ?? options.criteria ?? []).map((one) =>
    typeof one === "string" ? one : one.description,
  );
  if (criteria.length === 0)
    throw new AgentError("invalid-argument", "A rubric needs at least one criterion.");
  return verdictScorer({
    id: "rubric-scorer",
    name: "Rubric Scorer",
    description: "The share of criteria that the answer meets.",
    model,
    scale: options.scale,
    task: "List the criteria. `yes`: the answer meets it. `unsure`: in part. `no`: it does not.",
    material: (run) => ({
      ...questionAndAnswer(run),
      Criteria: criteria.map((criterion) => `- ${criterion}`).join("\n"),
    }),
    score: meanOf({ yes: 1, unsure: 0, no: 0 }, 0),
  });
}

/** 1 if a whole conversation meets a criterion, otherwise 0. */
export function createMultiTurnJudgeScorer({
  model,
  criterion,
}: {
  model: JudgeModel;
  criterion: string;
}): MastraScorer {
  if (!criterion)
    throw new AgentError("invalid-argument", "Pass the criterion that the conversation must meet.");
  return verdictScorer({
    id: "multi-turn-judge-scorer",
    name: "Multi-Turn Judge Scorer",
    description: "Whether a conversation meets a criterion.",
    model,
    task: "Give one verdict, about the criterion. `yes`: the conversation as a whole meets it. `no`: it does not.",
    material: (run) => ({ Conversation: conversationOf(run), Criterion: criterion }),
    score: (verdicts) => Number(verdicts.length > 0 && verdicts.every(({ verdict }) => verdict === "yes")),
  });
}

const IMPACTS = { none: 1, minimal: 0.85, moderate: 0.6, significant: 0.3, severe: 0.1 };

/** How little a question with noise in it changes the answer. */
export function createNoiseSensitivityScorerLLM({
  model,
  options,
}: Options<{ baselineResponse: string; noisyQuery: string; noiseType?: string }>): MastraScorer {
  const { baselineResponse, noisyQuery, noiseType = "unknown", scale = 1 } = options ?? {};
  if (!baselineResponse || !noisyQuery)
    throw new AgentError("invalid-argument", "Pass baselineResponse and noisyQuery in options.");
  return createScorer({
    id: "noise-sensitivity-scorer",
    name: "Noise Sensitivity Scorer",
    description: "How little noise in the question changes the answer.",
    judge: { model, instructions: INSTRUCTIONS },
  })
    .analyze<{ dimensions: { dimension: string; impact: keyof typeof IMPACTS; reason: string }[] }>({
      description: "Compares the answer with the one to the question without noise.",
      outputSchema: {
        type: "object",
        properties: {
          dimensions: {
            type: "array",
            items: {
              type: "object",
              properties: {
                dimension: { type: "string" },
                impact: { type: "string", enum: Object.keys(IMPACTS) },
                reason: { type: "string" },
              },
              required: ["dimension", "impact", "reason"],
              additionalProperties: false,
            },
          },
        },
        required: ["dimensions"],
        additionalProperties: false,
      } as const,
      createPrompt: ({ run }) =>
        [
          "The second answer is to a question with noise. For relevance, accuracy, completeness and coherence, say how much the noise made it worse.",
          `## Question\n${runTexts(run).input}`,
          `## Answer\n${baselineResponse}`,
          `## Question with noise (${noiseType})\n${noisyQuery}`,
          `## Second answer\n${runTexts(run).output}`,
        ].join("\n\n"),
    })
    .generateScore(({ results: { analyzeStepResult: found } }) => {
      const { dimensions } = found;
      if (dimensions.length === 0) return scale;
      const sum = dimensions.reduce((total, { impact }) => total + IMPACTS[impact], 0);
      return Math.round((sum / dimensions.length) * scale * 100) / 100;
    })
    .generateReason(({ results: { analyzeStepResult: found } }) =>
      found.dimensions
        .map(({ dimension, impact, reason }) => `- ${dimension}: ${impact} (${reason})`)
        .join("\n"),
    ) as MastraScorer;
}

/** Whether the steps of an agent were needed (60 %) and in a sensible order (30 %), less what is missing. */
export function createTrajectoryAccuracyScorerLLM({
  model,
  expectedTrajectory,
}: {
  model: JudgeModel;
  /** Default: `expectedTrajectory` of what is scored, or none. */
  expectedTrajectory?: { steps: readonly { name: string }[] };
}): MastraScorer {
  return createScorer({
    id: "llm-trajectory-accuracy-scorer",
    name: "Trajectory Accuracy Scorer",
    description: "Whether the steps were needed, in order and complete.",
    type: "trajectory",
    judge: { model, instructions: INSTRUCTIONS },
  })
    .analyze<TrajectoryJudgement>({
      description: "Judges each step.",
      outputSchema: TRAJECTORY_JUDGEMENT,
      createPrompt: ({ run }) => {
        const expected = (expectedTrajectory ?? run.expectedTrajectory) as { steps: unknown } | undefined;
        return [
          "List the steps: was each one needed, and was it taken in a sensible place? Then list the names of steps that are missing.",
          `## Question\n${runTexts({ ...run, output: "" }).input}`,
          `## Steps\n${JSON.stringify((run.output as Trajectory).steps)}`,
          ...(expected ? [`## Expected steps\n${JSON.stringify(expected.steps)}`] : []),
        ].join("\n\n");
      },
    })
    .generateScore(({ results: { analyzeStepResult: found } }) => {
      const { steps, missing } = found;
      const share = (count: number) => (steps.length === 0 ? 1 : count / steps.length);
      const needed = share(steps.filter((step) => step.needed).length);
      const inOrder = share(steps.filter((step) => step.inOrder).length);
      // Without needed, ordered and missing steps to count, a perfect run is worth 0.9: it is scaled to 1.
      const score = (needed * 0.6 + inOrder * 0.3) / 0.9 - 0.1 * missing.length;
      return Math.round(Math.max(0, score) * 100) / 100;
    })
    .generateReason(({ results: { analyzeStepResult: found } }) =>
      [
        ...found.steps.map(
          ({ name, needed, inOrder }) =>
            `- ${name}: ${needed ? "needed" : "not needed"}, ${inOrder ? "in order" : "out of order"}`,
        ),
        ...found.missing.map((name) => `- ${name}: missing`),
      ].join("\n"),
    ) as unknown as MastraScorer;
}

interface TrajectoryJudgement {
  steps: { name: string; needed: boolean; inOrder: boolean }[];
  missing: string[];
}

const TRAJECTORY_JUDGEMENT = {
  type: "object",
  properties: {
    steps: {
      type: "array",
      items: {
        type: "object",
        properties: {
          name: { type: "string" },
          needed: { type: "boolean" },
          inOrder: { type: "boolean" },
        },
        required: ["name", "needed", "inOrder"],
        additionalProperties: false,
      },
    },
    missing: { type: "array", items: { type: "string" } },
  },
  required: ["steps", "missing"],
  additionalProperties: false,
} as const;

/** All messages of a run, the history first. */
function conversationOf(run: ScorerRun): string {
  const { input, output } = run as { input?: { rememberedMessages?: unknown[] }; output: unknown };
  const history = JSON.stringify(input?.rememberedMessages ?? []);
  return `${history === "[]" ? "" : `${history}\n`}${runTexts(run).input}\n${JSON.stringify(output)}`;
}
