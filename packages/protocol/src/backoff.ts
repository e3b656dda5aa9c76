/**
 * The delay before attempt number `attempt` + 1: doubling, capped and random, so that many callers do not retry at
 * once. `random` is a number in [0, 1); `jitter` is the random share of the delay, all of it by default.
 */
export function backoff(
  attempt: number,
  random: number,
  { firstMs, capMs = Infinity, jitter = 1 }: { firstMs: number; capMs?: number; jitter?: number },
): number {
  const longest = Math.min(capMs, firstMs * 2 ** Math.min(attempt, 30));
  return longest * (1 - jitter * (1 - random));
}
