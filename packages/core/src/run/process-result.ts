import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { toJson } from "../json.ts";
import { Tripwire } from "../processor/tripwire.ts";
import type { Run } from "./run.ts";
import { readParts, textOf } from "./read-parts.ts";
import type { StepResult } from "../processor/step-result.ts";

/**
 * Lets processors see the whole answer. Their changes to its messages, in place or returned, are applied to the store
 * and to every step: nothing a caller receives afterwards shows the earlier text.
 */
export async function processResult(run: Run): Promise<void> {
  if (!run.pipeline.seesResult) return;
  const before = answerOf(run);
  const written = JSON.stringify(toJson(before));
  const count = stepsOf(before).length;
  try {
    await run.pipeline.outputResult(run.spec.list, {
      text: run.steps.at(-1)?.text ?? textOf(stepsOf(before).at(-1) ?? []),
      usage: run.totalUsage,
      finishReason: run.finishReason,
      steps: run.steps,
    });
  } catch (thrown) {
    if (!(thrown instanceof Tripwire)) throw thrown;
    withhold(run);
    await adopt(run, count);
    throw thrown;
  }
  if (JSON.stringify(toJson(answerOf(run))) !== written) await adopt(run, count);
}

/** A rejected answer must not be readable. Its calls and their results did happen. */
function withhold(run: Run): void {
  for (const { content } of answerOf(run))
    content.parts = content.parts.filter(({ type }) => type === "step-start" || type === "tool-invocation");
  run.spec.list.invalidate();
}

/** Updates the steps and the store to match the messages. */
async function adopt(run: Run, count: number): Promise<void> {
  const after = answerOf(run);
  const contents = stepsOf(after);
  if (contents.length === count) {
    // Steps of an earlier process are in the messages and not in the run.
    const own = contents.slice(Math.max(0, count - run.steps.length));
    own.forEach((parts, index) => change(run, run.steps.length - own.length + index, parts));
  } else {
    // The processor did not keep the steps separate, so the last one carries the answer.
    run.steps.forEach((_, index) =>
      change(run, index, index === run.steps.length - 1 ? contents.flat() : []),
    );
  }
  await run.spec.journal?.replace(after);
}

/** The messages with the answer. */
function answerOf(run: Run): StoredMessage[] {
  return run.spec.list.get.response.db().filter((message) => message.role === "assistant");
}

/** The parts of the answer, step by step. */
function stepsOf(messages: readonly StoredMessage[]): MessagePart[][] {
  const steps: MessagePart[][] = [];
  for (const { content } of messages) {
    content.parts.forEach((part, index) => {
      if (index === 0 || part.type === "step-start") steps.push([part]);
      else steps.at(-1)!.push(part);
    });
  }
  return steps;
}

/** Callers that received the step before keep what they received. */
function change(run: Run, index: number, parts: MessagePart[]): void {
  const step = run.steps[index] as StepResult;
  run.steps[index] = {
    ...step,
    ...readParts(
      parts,
      step.toolCalls.map(({ payload }) => payload),
      step.toolResults.map(({ toolCallId }) => toolCallId),
    ),
    // Provider metadata may quote the text, and a later request quotes earlier steps.
    providerMetadata: undefined,
    request: {},
  };
}
