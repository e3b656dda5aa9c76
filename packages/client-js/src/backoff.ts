/** How long to wait before trying again: doubling, capped, and random so that many clients do not come back at once. */
export function backoff(attempt: number, firstMs: number, capMs: number): number {
  return Math.random() * Math.min(capMs, firstMs * 2 ** Math.min(attempt, 30));
}

/** Waits. Resolves early when the signal aborts: whoever waits looks at the signal next. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}
