import { AgentError } from "@selvedge/core/errors";
import type { System } from "@selvedge/core/memory";

/**
 * The result of `work`, or `model-timeout` after `ms`. Its signal then aborts, and also when `abortSignal` does; work
 * that ignores it is abandoned.
 */
export async function within<T>(
  system: System,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  abortSignal?: AbortSignal,
): Promise<T> {
  const timeout = new AbortController();
  const signal = abortSignal ? AbortSignal.any([abortSignal, timeout.signal]) : timeout.signal;
  signal.throwIfAborted();
  const cancel = system.setTimer(ms, () =>
    timeout.abort(new AgentError("model-timeout", `It took longer than ${ms} ms.`)),
  );
  const { promise: given, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work(signal), given]);
  } finally {
    signal.removeEventListener("abort", stop);
    cancel();
  }
}
