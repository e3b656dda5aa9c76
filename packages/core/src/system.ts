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
  /** Default: the machine that this process runs on. */
  readonly machine?: MachineProcesses;
}

/** A process. A later one with the same number has another start time. */
export interface IdentifiedProcess {
  pid: number;
  /** `undefined` if there is no such process. */
  startTime: string | undefined;
}

/** The processes of a machine. */
export interface MachineProcesses {
  /** Process numbers mean something only on one host, until it restarts. */
  readonly host: string;
  readonly bootId: string;
  readonly self: IdentifiedProcess;
  identify(pid: number): IdentifiedProcess;
  /** Whether this very process runs. */
  isRunning(process: IdentifiedProcess): boolean;
  /** Ends a process and all it started. */
  kill(pid: number): Promise<void>;
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
  newId: () => timeOrderedId(Date.now()),
  random: () => Math.random(),
};

/**
 * A UUID of version 7: the time, then random bits. New rows then have neighbouring keys, so that a store writes a few
 * pages of an index again and again, and not one somewhere for each row.
 */
function timeOrderedId(now: number): string {
  const time = Math.trunc(now).toString(16).padStart(12, "0");
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${crypto.randomUUID().slice(15)}`;
}

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
