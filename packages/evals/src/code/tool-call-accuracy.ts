import {
  createScorer,
  type MastraScorer,
  type ScorerRunInputForAgent,
  type ScorerRunOutputForAgent,
} from "@selvedge/core/evals";
import { AgentError } from "@selvedge/core/errors";
import { extractToolCalls } from "../scorers/utils.ts";

export interface ToolCallAccuracyOptions {
  expectedTool?: string;
  /** The expected tool, and no other. */
  strictMode?: boolean;
  /** These tools in this order; others may be called in between, unless it is strict. */
  expectedToolOrder?: string[];
}

/** 1 if the right tools were called, otherwise 0. */
export function createToolCallAccuracyScorerCode(
  options: ToolCallAccuracyOptions,
): MastraScorer<string, ScorerRunInputForAgent, ScorerRunOutputForAgent> {
  const { expectedTool, strictMode = false, expectedToolOrder } = options;
  if (!expectedTool && !expectedToolOrder)
    throw new AgentError("invalid-argument", "Pass expectedTool or expectedToolOrder.");
  return createScorer({
    id: "code-tool-call-accuracy-scorer",
    name: "Tool Call Accuracy Scorer",
    description: "Whether the expected tools were called.",
    type: "agent",
  })
    .preprocess(({ run }) => {
      const { tools, toolCallInfos } = extractToolCalls(run.output);
      return {
        expectedTool,
        actualTools: tools,
        strictMode,
        expectedToolOrder,
        hasToolCalls: tools.length > 0,
        correctToolCalled: !!expectedTool && tools.includes(expectedTool),
        correctOrderCalled: expectedToolOrder ? isInOrder(tools, expectedToolOrder, strictMode) : null,
        toolCallInfos,
      };
    })
    .generateScore(({ results: { preprocessStepResult: found } }) => {
      if (found.correctOrderCalled !== null) return found.correctOrderCalled ? 1 : 0;
      if (!found.hasToolCalls) return 0;
      if (strictMode) return found.actualTools.length === 1 && found.correctToolCalled ? 1 : 0;
      return found.correctToolCalled ? 1 : 0;
    }) as MastraScorer<string, ScorerRunInputForAgent, ScorerRunOutputForAgent>;
}

function isInOrder(tools: readonly string[], expected: readonly string[], isStrict: boolean): boolean {
  if (isStrict) return tools.length === expected.length && tools.every((tool, at) => tool === expected[at]);
  let next = 0;
  for (const tool of tools) if (tool === expected[next]) next++;
  return next === expected.length;
}
