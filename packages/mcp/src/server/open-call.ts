import type { System } from "@selvedge/core";
import { CLIENT_CAPABILITIES_META_KEY, type ServerContext } from "@modelcontextprotocol/server";
import { type Ask, type AskRequest, checkAnswerable } from "./ask.ts";
import { checkAnswer } from "./check-answer.ts";

interface Question {
  request: AskRequest;
  resolve(answer: unknown): void;
  reject(error: unknown): void;
}

type Envelope = Record<string, Record<string, unknown> | undefined>;

export type Round<Result> =
  | { kind: "done"; result: Result }
  | { kind: "asks"; questions: Record<string, AskRequest> };

/**
 * A call in the stateless version of the protocol. A server cannot send requests there: it returns its questions as the
 * call's result, and the client calls again with the answers. The work itself continues across these rounds:
 *
 *   call ──► work ──► asks ──► (answered: input_required) … call + answers ──► work goes on ──► done
 */
export class OpenCall<Result> {
  readonly controller: AbortController = new AbortController();
  /** Every answer received, by question: enough to repeat harmless work in another process. */
  readonly answers: Record<string, unknown>;
  readonly #system: System;
  readonly #questions = new Map<string, Question>();
  #asked = 0;
  #ctx: ServerContext;
  #unlink: () => void = () => {};
  #wake: () => void = () => {};
  #work: Promise<Result> | undefined;

  constructor(ctx: ServerContext, answers: Record<string, unknown>, system: System) {
    this.#system = system;
    this.#ctx = ctx;
    this.answers = { ...answers };
  }

  /** The exchange the call is in now. */
  get ctx(): ServerContext {
    return this.#ctx;
  }

  start(work: () => Promise<Result>): void {
    this.#work = work();
    this.#work.catch(() => {});
  }

  readonly ask: Ask = async (request, { key = `question-${++this.#asked}` } = {}) => {
    checkAnswerable(request, declaredCapabilities(this.#ctx));
    if (key in this.answers) {
      return checkAnswer(request, this.answers[key]).catch((error: unknown) => {
        // The tool may ask under the same key again.
        delete this.answers[key];
        throw error;
      });
    }
    return new Promise((resolve, reject) => {
      this.#questions.set(key, { request, resolve, reject });
      this.#wake();
    });
  };

  /**
   * Accepts the answers of a new exchange. Unanswered questions are asked again; a wrong answer is an error for the
   * tool.
   */
  async resume(ctx: ServerContext, answers: Record<string, unknown>): Promise<void> {
    this.#ctx = ctx;
    // Collected first: the tool may ask under the same key again in the meantime.
    const answered = [...this.#questions].filter(([key]) => key in answers);
    for (const [key, { request, resolve, reject }] of answered) {
      this.#questions.delete(key);
      await checkAnswer(request, answers[key]).then((answer) => {
        this.answers[key] = answer;
        resolve(answer);
      }, reject);
    }
  }

  /** Waits until the work is done or needs answers to continue. Aborting the exchange aborts the work. */
  async round(): Promise<Round<Result>> {
    const { signal } = this.#ctx.mcpReq;
    const abort = (): void => this.controller.abort(signal.reason);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    this.#unlink = () => signal.removeEventListener("abort", abort);
    try {
      const asking = this.#whenAsking().then(() => "asks" as const);
      const first = await Promise.race([this.#work!.then((result) => ({ result })), asking]);
      if (first !== "asks") return { kind: "done", result: first.result };
      const questions = [...this.#questions].map(([key, { request }]) => [key, request] as const);
      return { kind: "asks", questions: Object.fromEntries(questions) };
    } finally {
      this.#unlink();
    }
  }

  /** No more answers will arrive. */
  abandon(reason: Error): void {
    this.controller.abort(reason);
    for (const { reject } of this.#questions.values()) reject(reason);
    this.#questions.clear();
  }

  /** Questions asked in parallel are sent together: one more turn of the event loop collects them. */
  async #whenAsking(): Promise<void> {
    if (this.#questions.size === 0) await new Promise<void>((resolve) => (this.#wake = resolve));
    do await new Promise<void>((resolve) => this.#system.setTimer(0, resolve));
    while (this.#questions.size === 0);
  }
}

/** The capabilities that the client of a stateless request declared. */
export function declaredCapabilities(ctx: ServerContext): Record<string, unknown> {
  return ((ctx.mcpReq.envelope ?? {}) as Envelope)[CLIENT_CAPABILITIES_META_KEY] ?? {};
}
