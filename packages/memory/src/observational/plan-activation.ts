import type { OmLimits } from "./om-limits.ts";

/** The most that an activation removes beyond its target, as a share of what is kept. */
const MOST_OVERSHOOT = 0.95;
const LEAST_LEFT = 1_000;

export interface ActivationInput {
  /** Tokens of all messages that no active chunk covers. */
  pendingTokens: number;
  /** Message tokens of the buffered chunks, oldest first. */
  chunks: readonly number[];
}

/**
 * How many buffered chunks, from the oldest on, join the log at a step border. 0 below the threshold. After each part
 * the sum is checked again, so that no long tail is left.
 */
export function planActivation({ pendingTokens, chunks }: ActivationInput, limits: OmLimits): number {
  let pending = pendingTokens;
  let taken = 0;
  while (taken < chunks.length && pending >= limits.messageTokens) {
    const rest = chunks.slice(taken);
    const count = chunksToTake(pending, rest, limits, true);
    pending -= sum(rest.slice(0, count));
    taken += count;
  }
  return taken;
}

/** The same before the threshold is reached, after a pause or a change of the model. */
export function planEarlyActivation({ pendingTokens, chunks }: ActivationInput, limits: OmLimits): number {
  if (pendingTokens >= limits.messageTokens) return planActivation({ pendingTokens, chunks }, limits);
  return chunksToTake(pendingTokens, chunks, limits, false);
}

function chunksToTake(
  pending: number,
  chunks: readonly number[],
  limits: OmLimits,
  mustTake: boolean,
): number {
  const { keptTokens } = limits;
  const target = pending - keptTokens;
  if (target <= 0) return 0;
  let removed = 0;
  let over = 0;
  while (over < chunks.length && removed < target) removed += chunks[over++]!;
  if (removed < target) return over;
  const isWithin =
    removed - target <= MOST_OVERSHOOT * keptTokens && pending - removed >= Math.min(LEAST_LEFT, keptTokens);
  if (isWithin || pending > limits.blockMessagesAbove) return over;
  // A single chunk that removes too much is taken if nothing else is possible.
  return over > 1 ? over - 1 : mustTake ? over : 0;
}

/**
 * How many of the oldest unobserved messages are left out of the prompt because there are too many: none up to twice
 * `messageTokens`, then enough, in one stride, to get down to `messageTokens`. Adding messages changes nothing until
 * the window is full again. The newest message always stays. `tokens` has a number for each message, oldest first.
 */
export function countLeftOut(tokens: readonly number[], messageTokens: number): number {
  let window = 0;
  let start = 0;
  for (let end = 0; end < tokens.length; end++) {
    window += tokens[end]!;
    if (window <= 2 * messageTokens) continue;
    while (start < end && window > messageTokens) window -= tokens[start++]!;
  }
  return start;
}

export interface ReflectionInput {
  /** Tokens of the active log, with the chunks that were reflected. */
  logTokens: number;
  /** Tokens of the chunks that the reflection replaces. */
  inputTokens: number;
  reflectionTokens: number;
}

/** Whether a ready reflection replaces its chunks now. */
export function activatesReflection({ logTokens }: ReflectionInput, limits: OmLimits): boolean {
  return logTokens >= limits.observationTokens;
}

/** Whether it does so early, after a pause or a change of the model: not if that would waste most of its benefit. */
export function activatesReflectionEarly(input: ReflectionInput, limits: OmLimits): boolean {
  if (activatesReflection(input, limits)) return true;
  const following = input.logTokens - input.inputTokens;
  const usual = input.reflectionTokens + limits.observationTokens - input.inputTokens;
  return following >= input.reflectionTokens && input.reflectionTokens + following >= 0.75 * usual;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
