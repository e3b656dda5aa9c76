import { offAbort, onAbort } from "../abort.ts";
import { AgentError } from "../errors.ts";
import { sleep, type System } from "../system.ts";
import { failureReason } from "./failure-reason.ts";
import { modelName } from "./model-name.ts";
import type { ModelCallOptions, ModelCandidate, ModelLimits, ModelPart, ModelReply } from "./model.ts";
import { partSize } from "./part-size.ts";
import { ModelStreamError } from "./retry-policy.ts";
import { WholeCharacters } from "./whole-characters.ts";

/**
 * The chunk timeout is checked this many times per period, so it is accurate to one part in sixteen and never early.
 */
const CHECKS_PER_LIMIT = 16;
const LONGEST_TIMER_MS = 2 ** 31 - 1;
/** After this many parts the clock is read, and other tasks get a turn if the stream has not yielded for this long. */
const PARTS_PER_LOOK = 64;
const LONGEST_TURN_MS = 10;

type Reader = ReadableStreamDefaultReader<ModelPart>;
type ReadResult = Awaited<ReturnType<Reader["read"]>>;

/**
 * One call of one model, from the request to the end of its stream.
 *
 * ```
 * open ──► peeking ──► reading ──► finished      finish part or end of stream
 *    └────────┴───────────┴──────► failed        limit, abort, broken stream; every later read throws it
 * ```
 *
 * A chunk costs one promise and no timer or clock: a single timer checks `#touches` periodically. A stream that never
 * waits keeps timers from running, so the clock is also read every few parts.
 */
export class ModelAttempt implements ModelReply {
  readonly candidate: ModelCandidate;
  request: ModelReply["request"];
  response: ModelReply["response"];

  readonly #system: System;
  readonly #timers: Pick<System, "setTimer">;
  readonly #limits: ModelLimits;
  readonly #callerSignal: AbortSignal | undefined;
  readonly #controller = new AbortController();
  readonly #startedAt: number;
  #reader: Reader | undefined;
  #rejectOpening: ((reason: unknown) => void) | undefined;
  #cancelTimer: (() => void) | undefined;

  // Incremented when a read starts and when it settles, so it is odd while waiting for the model.
  #touches = 0;
  #touchesSeen = 0;
  #quietSince: number;
  readonly #characters = new WholeCharacters();
  #hasOutput = false;
  #peeked: ModelPart[] = [];
  #ended = false;
  readonly #maxBytes: number;
  #bytes = 0;
  #parts = 0;
  #turnedAt: number;
  #failure: { error: unknown } | undefined;
  #drained: Promise<undefined> | undefined;

  constructor(
    candidate: ModelCandidate,
    context: {
      system: System;
      timers: Pick<System, "setTimer">;
      limits: ModelLimits;
      abortSignal: AbortSignal | undefined;
    },
  ) {
    this.candidate = candidate;
    this.#system = context.system;
    this.#timers = context.timers;
    this.#limits = context.limits;
    this.#maxBytes = context.limits.replyBytes || Infinity;
    this.#callerSignal = context.abortSignal;
    this.#startedAt = this.#quietSince = this.#turnedAt = context.system.monotonic();
  }

  /** Calls the model and reads up to its first output. Rejects if there is none, leaving nothing behind. */
  async open(options: ModelCallOptions): Promise<void> {
    if (this.#callerSignal) onAbort(this.#callerSignal, this);
    this.#armTimer(this.#startedAt);
    try {
      const result = await this.#call(options);
      this.request = result.request;
      this.response = result.response;
      this.#reader = result.stream.getReader();
      while (!this.#hasOutput) {
        this.#touches++;
        let read: ReadResult;
        try {
          read = await this.#reader.read();
        } catch (cause) {
          throw new ModelStreamError("was interrupted", cause);
        }
        const turn = this.#peek(this.#received(read));
        if (turn) await turn;
      }
    } catch (error) {
      this.#release();
      if (this.#failure) throw this.#failure.error;
      this.#drop(error);
      throw error;
    }
  }

  async each(take: (part: ModelPart) => void | Promise<void>): Promise<void> {
    const peeked = this.#peeked;
    this.#peeked = [];
    for (const part of peeked) {
      if (this.#failure) throw this.#failure.error;
      const taken = take(part);
      if (taken) await taken;
    }
    while (!this.#drained) {
      this.#touches++;
      let read: ReadResult;
      try {
        read = await this.#reader!.read();
      } catch (cause) {
        return this.#break(cause);
      }
      const part = this.#received(read);
      if (!part) return this.#release();
      const turn = this.#count(part);
      if (part.type === "finish") this.#finish();
      if (turn) await turn;
      const taken = take(part);
      if (taken) await taken;
    }
    await this.#drained;
  }

  cancel(reason?: unknown): void {
    if (this.#ended) return;
    this.#release();
    this.#peeked = [];
    this.#drop(
      reason ??
        new AgentError("model-failed", `The reply from ${modelName(this.candidate.model)} was abandoned.`),
    );
  }

  // A model that ignores its signal must not block the caller: the call is settled from outside.
  #call(options: ModelCallOptions): Promise<Awaited<ReturnType<ModelCandidate["model"]["doStream"]>>> {
    return new Promise((resolve, reject) => {
      this.#rejectOpening = reject;
      // `doStream` may throw before it returns a promise; the executor turns that into a rejection.
      this.candidate.model.doStream({ ...options, abortSignal: this.#controller.signal }).then((result) => {
        if (this.#ended) result.stream.cancel().catch(ignore);
        else resolve(result);
      }, reject);
    });
  }

  /** The part read, or `undefined` at the end of the stream. */
  #received(read: ReadResult): ModelPart | undefined {
    this.#touches++;
    if (this.#failure) throw this.#failure.error;
    return read.done ? undefined : this.#characters.of(read.value);
  }

  /** Keeps a part that arrived before or with the first output. */
  #peek(part: ModelPart | undefined): Promise<void> | undefined {
    if (!part) throw new ModelStreamError("ended without any output", undefined);
    if (part.type === "error") throw new ModelStreamError("failed", part.error);
    this.#peeked.push(part);
    const turn = this.#count(part);
    if (part.type === "ping") this.#quietSince = this.#system.monotonic();
    this.#hasOutput = isOutput(part);
    if (part.type === "finish") this.#finish();
    return turn;
  }

  /** Counts a part. Throws when a limit is exceeded; returns a promise when other tasks should get a turn first. */
  #count(part: ModelPart): Promise<void> | undefined {
    this.#bytes += partSize(part, this.#maxBytes);
    if (this.#bytes > this.#maxBytes) this.#fail(this.#tooLong());
    if (++this.#parts % PARTS_PER_LOOK === 0) {
      const now = this.#system.monotonic();
      this.#checkTimes(now);
      if (!this.#failure && now - this.#turnedAt >= LONGEST_TURN_MS) return this.#takeTurns();
    }
    if (this.#failure) throw this.#failure.error;
    return undefined;
  }

  async #takeTurns(): Promise<void> {
    await sleep(this.#system, 0);
    this.#turnedAt = this.#system.monotonic();
    if (this.#failure) throw this.#failure.error;
  }

  #break(cause: unknown): void {
    if (this.#failure === undefined) {
      if (this.#ended) return;
      const reason = failureReason(cause, this.candidate);
      const message = `The reply from ${modelName(this.candidate.model)} was interrupted: ${reason}`;
      this.#failure = { error: new AgentError("model-failed", message, { cause }) };
      this.#release();
    }
    throw this.#failure.error;
  }

  // `finish` is the last part. The stream is read once more so that it can close by itself; anything else it sends is
  // ignored, and a connection that stays open is closed at the next check.
  #finish(): void {
    const reader = this.#reader!;
    const settle = (result?: ReadResult): undefined => {
      if (result?.done === false) reader.cancel().catch(ignore);
      this.#release();
    };
    this.#drained = reader.read().then(settle, () => settle());
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    this.#fail(this.#callerSignal!.reason);
  }

  #fail(error: unknown): void {
    if (this.#ended) return;
    this.#release();
    // Once the finish part has arrived, the reply is complete, whatever happens to the connection.
    if (this.#drained === undefined) this.#failure = { error };
    this.#drop(error);
  }

  /** Releases the model: aborts its signal and cancels its stream, which settles a pending read. */
  #drop(reason: unknown): void {
    // In this order, a model that breaks its stream on abort finds it already closed.
    this.#reader?.cancel(reason).catch(ignore);
    this.#controller.abort(reason);
    this.#rejectOpening?.(reason);
  }

  #release(): void {
    this.#ended = true;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#callerSignal) offAbort(this.#callerSignal, this);
  }

  #armTimer(now: number): void {
    const { firstChunkMs, chunkMs, totalMs } = this.#limits;
    let wait = LONGEST_TIMER_MS;
    if (totalMs > 0) wait = Math.min(wait, this.#startedAt + totalMs - now);
    if (chunkMs > 0) wait = Math.min(wait, Math.max(1, chunkMs / CHECKS_PER_LIMIT));
    const limit = this.#hasOutput ? chunkMs : firstChunkMs;
    if (limit > 0) wait = Math.min(wait, this.#quietSince + limit - now);
    if (wait === LONGEST_TIMER_MS && !(totalMs > 0) && !(limit > 0)) return;
    this.#cancelTimer = this.#timers.setTimer(Math.max(1, Math.ceil(wait)), this.#check);
  }

  readonly #check = (): void => {
    if (this.#ended) return;
    const now = (this.#turnedAt = this.#system.monotonic());
    const { chunkMs } = this.#limits;
    if (this.#drained !== undefined) return this.#fail(undefined);
    this.#checkTimes(now);
    if (this.#ended) return;
    if (this.#hasOutput && (this.#touches !== this.#touchesSeen || this.#touches % 2 === 0)) {
      // Something arrived since the last check, or the stream is not being read; neither is silence of the model.
      this.#touchesSeen = this.#touches;
      this.#quietSince = now;
    } else if (this.#hasOutput && chunkMs > 0 && now - this.#quietSince >= chunkMs) {
      return this.#fail(this.#timeout("chunkMs", chunkMs));
    }
    this.#armTimer(now);
  };

  #checkTimes(now: number): void {
    const { firstChunkMs, totalMs } = this.#limits;
    if (totalMs > 0 && now - this.#startedAt >= totalMs) this.#fail(this.#timeout("totalMs", totalMs));
    else if (!this.#hasOutput && firstChunkMs > 0 && now - this.#quietSince >= firstChunkMs)
      this.#fail(this.#timeout("firstChunkMs", firstChunkMs));
  }

  #tooLong(): AgentError {
    const { replyBytes } = this.#limits;
    const model = modelName(this.candidate.model);
    return new AgentError(
      "limit-exceeded",
      `The reply from ${model} is longer than ${replyBytes} bytes. Raise \`limits.replyBytes\` if that is normal for it; 0 disables the limit.`,
      { details: { limit: "replyBytes", bytes: replyBytes, model } },
    );
  }

  #timeout(limit: TimeLimit, ms: number): AgentError {
    return new AgentError(
      "model-timeout",
      `${modelName(this.candidate.model)} ${SAID[limit]} ${ms} ms. Raise \`limits.${limit}\` if that is normal for it; 0 disables the limit.`,
      { details: { limit, ms, model: modelName(this.candidate.model) } },
    );
  }
}

type TimeLimit = Exclude<keyof ModelLimits, "replyBytes">;

const SAID: Record<TimeLimit, string> = {
  firstChunkMs: "sent no output within",
  chunkMs: "sent nothing during its reply for",
  totalMs: "did not finish its reply within",
};

function isOutput(part: ModelPart): boolean {
  switch (part.type) {
    case "stream-start":
    case "response-metadata":
    case "raw":
    case "ping":
      return false;
    default:
      return true;
  }
}

function ignore(): void {}
