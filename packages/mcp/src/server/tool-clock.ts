import { AgentError, type System } from "@selvedge/core";

/** The time limit of a tool call. It pauses while the client is asked, because people take longer than tools. */
export class ToolClock {
  readonly #subject: string;
  readonly #system: System;
  readonly #controller = new AbortController();
  #left: number;
  #asking = 0;
  #since = 0;
  #cancelTimer: () => void = () => {};
  #onLate: (error: AgentError) => void = () => {};

  /** `subject` names what is timed, for messages. 0 means no limit. */
  constructor(subject: string, ms: number, system: System) {
    this.#subject = subject;
    this.#left = ms > 0 ? ms : Number.POSITIVE_INFINITY;
    this.#system = system;
  }

  /**
   * Runs the work within the time limit. At the limit, or when `given` aborts, the work's signal aborts; at the limit,
   * the call no longer waits for it.
   */
  async run<Result>(
    given: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const { signal } = this.#controller;
    const late = new Promise<never>((_, reject) => (this.#onLate = reject));
    this.#start();
    try {
      const working = work(given ? AbortSignal.any([given, signal]) : signal);
      // The loser of the race may still reject later; nothing handles that any more.
      working.catch(() => {});
      return await Promise.race([working, late]);
    } finally {
      this.#left = Number.POSITIVE_INFINITY;
      this.#cancelTimer();
    }
  }

  async standStill<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    if (this.#asking++ === 0) this.#stop();
    try {
      return await ask();
    } finally {
      if (--this.#asking === 0) this.#start();
    }
  }

  #start(): void {
    if (this.#left === Number.POSITIVE_INFINITY) return;
    this.#since = this.#system.monotonic();
    this.#cancelTimer = this.#system.setTimer(Math.max(this.#left, 0), () => {
      const error = new AgentError("tool-timeout", `${this.#subject} did not finish in time.`);
      this.#controller.abort(error);
      this.#onLate(error);
    });
  }

  #stop(): void {
    this.#cancelTimer();
    this.#left -= this.#system.monotonic() - this.#since;
  }
}
