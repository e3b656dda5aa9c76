/** What an id is for. */
export interface IdPurpose {
  idType: "thread" | "message" | "run" | "step" | "generic";
  source?: "agent" | "workflow" | "memory";
  /** The agent or workflow. */
  entityId?: string;
  threadId?: string;
  resourceId?: string;
  role?: string;
}

/**
 * Everything nondeterministic, in one object: time, timers, ids and randomness. It is passed in, so that a test or the
 * simulator can replace it; `realSystem` is the only place that touches the real ones.
 */
export interface System {
  /** Wall time in milliseconds, for timestamps people read. */
  now(): number;
  /** A clock that never goes back, for durations. */
  monotonic(): number;
  /**
   * Calls back once after `ms`, or in the next turn of the event loop where that is 0; the returned function cancels. A
   * `background` timer does not keep the process alive.
   */
  setTimer(ms: number, callback: () => void, options?: { background?: boolean }): () => void;
  /** A new id. An app that makes its own ids learns the purpose; ids without one never leave the runtime. */
  newId(purpose?: IdPurpose): string;
  /** A number in [0, 1). */
  random(): number;
}

export const realSystem: System = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, callback, options) {
    if (ms <= 0) {
      const turn = setImmediate(callback);
      if (options?.background) turn.unref();
      return () => clearImmediate(turn);
    }
    const timer = setTimeout(callback, ms);
    if (options?.background) timer.unref();
    return () => clearTimeout(timer);
  },
  newId: () => crypto.randomUUID(),
  random: () => Math.random(),
};

/** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
export function sleep(
  system: System,
  ms: number,
  signal?: AbortSignal,
  options?: { background?: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const cancel = system.setTimer(
      ms,
      () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      },
      options,
    );
    function onAbort(): void {
      cancel();
      reject(signal?.reason);
    }
    signal?.addEventListener("abort", onAbort, { once: true });
  });
}
