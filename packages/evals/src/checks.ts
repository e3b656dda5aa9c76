import {
  createScorer,
  type MastraScorer,
  type ScorerRun,
  type ScorerRunOutputForAgent,
} from "@selvedge/core/evals";
import { dice } from "./code/similarity.ts";
import { runTexts } from "./run-texts.ts";
import { extractToolCalls } from "./scorers/utils.ts";

interface Case {
  ignoreCase?: boolean;
}

/** 1 if the answer contains the text. */
export function includes(expected: string, { ignoreCase = true }: Case = {}): MastraScorer {
  return check("includes", (run) => fold(answerOf(run), ignoreCase).includes(fold(expected, ignoreCase)));
}

/** 1 if the answer does not contain the text. */
export function excludes(unwanted: string, { ignoreCase = true }: Case = {}): MastraScorer {
  return check("excludes", (run) => !fold(answerOf(run), ignoreCase).includes(fold(unwanted, ignoreCase)));
}

/** 1 if the answer is the text. */
export function equals(expected: string, { ignoreCase = true }: Case = {}): MastraScorer {
  return check("equals", (run) => fold(answerOf(run), ignoreCase) === fold(expected, ignoreCase));
}

/** 1 if the answer matches the pattern. */
export function matches(pattern: RegExp): MastraScorer {
  const plain = new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, ""));
  return check("matches", (run) => plain.test(answerOf(run)));
}

/** How alike the answer and the text are; with a threshold, 1 from there on. */
export function similarity(expected: string, { threshold }: { threshold?: number } = {}): MastraScorer {
  return check("similarity", (run) => {
    const alike = dice(answerOf(run).toLowerCase(), expected.toLowerCase());
    return threshold === undefined ? alike : alike >= threshold;
  });
}

/** 1 if the tool was called, at least so often. */
export function calledTool(name: string, { times = 1 }: { times?: number } = {}): MastraScorer {
  return check("called-tool", (run) => toolsOf(run).filter((tool) => tool === name).length >= times);
}

export function didNotCall(name: string): MastraScorer {
  return check("did-not-call", (run) => !toolsOf(run).includes(name));
}

/** 1 if these tools were called in this order; others may be in between. */
export function toolOrder(names: readonly string[]): MastraScorer {
  return check("tool-order", (run) => {
    let next = 0;
    for (const tool of toolsOf(run)) if (tool === names[next]) next++;
    return next === names.length;
  });
}

export function maxToolCalls(most: number): MastraScorer {
  return check("max-tool-calls", (run) => toolsOf(run).length <= most);
}

export function usedNoTools(): MastraScorer {
  return check("used-no-tools", (run) => toolsOf(run).length === 0);
}

/** 1 if no tool failed. */
export function noToolErrors(): MastraScorer {
  return check("no-tool-errors", ({ output }) =>
    ((output ?? []) as ScorerRunOutputForAgent).every(({ content }) =>
      content.parts.every(
        (part) => part.type !== "tool-invocation" || part.toolInvocation.state !== "output-error",
      ),
    ),
  );
}

/** All of them under one name. */
export const checks: {
  includes: typeof includes;
  excludes: typeof excludes;
  equals: typeof equals;
  matches: typeof matches;
  similarity: typeof similarity;
  calledTool: typeof calledTool;
  didNotCall: typeof didNotCall;
  toolOrder: typeof toolOrder;
  maxToolCalls: typeof maxToolCalls;
  usedNoTools: typeof usedNoTools;
  noToolErrors: typeof noToolErrors;
} = {
  includes,
  excludes,
  equals,
  matches,
  similarity,
  calledTool,
  didNotCall,
  toolOrder,
  maxToolCalls,
  usedNoTools,
  noToolErrors,
};

function check(name: string, test: (run: ScorerRun) => boolean | number): MastraScorer {
  return createScorer({ id: `check-${name}`, description: `Checks an answer: ${name}.` }).generateScore(
    ({ run }) => Number(test(run)),
  ) as MastraScorer;
}

function answerOf(run: ScorerRun): string {
  return runTexts(run).output;
}

function toolsOf({ output }: ScorerRun): string[] {
  return Array.isArray(output) ? extractToolCalls(output as ScorerRunOutputForAgent).tools : [];
}

function fold(text: string, ignoreCase: boolean): string {
  return ignoreCase ? text.toLowerCase() : text;
}
