import { AgentError, errorFromWire, type ThreadSubscription } from "@selvedge/client-js";
import { ignoreChunk, isMemoryChunk } from "@selvedge/protocol";
import type { NumberedChunk } from "@selvedge/protocol/routes";
import { approvalsAfter } from "./approval.ts";
import { isPassing } from "./is-passing.ts";
import type { ThreadDoor } from "./thread-door.ts";
import type { ThreadLoader } from "./thread-loader.ts";
import type { ThreadModel } from "./thread-model.ts";

const RESTART_MS = 1000;

export interface Publisher {
  /** Publishes a change now. */
  now(): void;
  /** Publishes a change together with those that follow shortly. */
  soon(): void;
}

/**
 * Keeps the model of a thread up to date, from the store and the stream.
 *
 * start: state → messages → subscription from the start of the active run
 * a run ends: the stored messages are read again; they are authoritative for finished runs
 */
export class ThreadFollower {
  readonly #door: ThreadDoor;
  readonly #model: ThreadModel;
  readonly #loader: ThreadLoader;
  readonly #publish: Publisher;
  #subscription: ThreadSubscription | undefined;
  /** Chunks up to this number are replayed and published together. */
  #caughtUpAt = 0;
  /** The run that was read from its first chunk on: its answers are rebuilt, whatever was stored of them. */
  #fromStart: string | undefined;
  /** The active run whose input was seen. */
  #askedIn: string | undefined;
  /** Whether earlier chunks of the active run are no longer stored. */
  #fromEnd = false;

  constructor(door: ThreadDoor, model: ThreadModel, loader: ThreadLoader, publish: Publisher) {
    this.#door = door;
    this.#model = model;
    this.#loader = loader;
    this.#publish = publish;
  }

  /** Loads and follows until stopped. If the stream has moved on too far, it starts again. */
  async follow(): Promise<void> {
    const model = this.#model;
    const life = (model.life = {});
    for (;;) {
      try {
        await this.#loadAndRead(life);
        return;
      } catch (error) {
        if (life !== model.life) return;
        const isGone = AgentError.is(error, "reader-too-slow");
        if (!isGone && !isPassing(error)) return this.#giveUp(error);
        model.error = error as Error;
        model.connection = model.status === "loading" ? "connecting" : "reconnecting";
        this.#publish.now();
        if (!isGone) await new Promise((resolve) => setTimeout(resolve, RESTART_MS * (0.5 + Math.random())));
        if (life !== model.life) return;
      }
    }
  }

  stop(): void {
    this.#model.life = {};
    this.#subscription?.unsubscribe();
    this.#subscription = undefined;
  }

  async #loadAndRead(life: object): Promise<void> {
    const model = this.#model;
    const state = await this.#loader.state();
    const wasActive = state?.runState === "idle" && state.lastSeq > 0;
    const [page, failure] = await Promise.all([
      state && this.#loader.newest(),
      wasActive ? this.#loader.lastFailure() : undefined,
    ]);
    if (life !== model.life) return;
    const rebuilds = state !== undefined && state.runState !== "idle" && !this.#fromEnd;
    const after = rebuilds ? state.activeRunAfter : (state?.lastSeq ?? 0);
    const { clientTools, reconnect = true } = this.#door.options;
    const subscription = await this.#door.agent.subscribeToThread({
      ...this.#door.address,
      after,
      ...(clientTools && { clientTools }),
    });
    if (life !== model.life) return subscription.unsubscribe();
    this.#subscription = subscription;
    model.transcript.rest();
    model.transcript.merge(page?.messages ?? [], model.transcript.clock);
    model.hasMore = page?.hasMore ?? false;
    model.takeState(state);
    model.runError = failure;
    this.#fromStart = undefined;
    this.#askedIn = state?.activeRunId ?? undefined;
    this.#caughtUpAt = state?.lastSeq ?? 0;
    model.status = "ready";
    model.error = undefined;
    model.connection = "live";
    this.#publish.now();
    // Until the first chunk arrives, an error may mean that the requested chunks are gone.
    this.#fromEnd = rebuilds;
    // A message may have been queued between reading the state and subscribing.
    this.#loader.refreshQueue();
    await subscription.processDataStream({
      onChunk: (chunk) => {
        if (life === model.life) this.#take(chunk);
      },
      reconnect,
      onConnection: (connection) => {
        if (life !== model.life) return;
        model.connection = connection;
        this.#publish.now();
        if (connection === "live") this.#loader.refreshQueue();
      },
      onQueueChange: () => {
        if (life !== model.life) return;
        model.exists = true;
        this.#loader.refreshQueue();
      },
    });
  }

  #take(chunk: NumberedChunk): void {
    this.#fromEnd = false;
    this.#model.exists = true;
    if (chunk.type === "start") this.#fromStart = chunk.runId;
    this.#model.transcript.take(chunk, this.#fromStart === chunk.runId);
    const isPast = chunk.seq < this.#caughtUpAt;
    if (!isMemoryChunk(chunk)) this.#trackRun(chunk, isPast);
    this.#door.options.onChunk?.(chunk);
    if (!isPast) this.#publish.soon();
  }

  #trackRun(chunk: NumberedChunk, isPast: boolean): void {
    const model = this.#model;
    const { runId } = chunk;
    if (model.run?.runId !== runId || model.run.state !== "running") model.run = { runId, state: "running" };
    model.approvals = approvalsAfter(model.approvals, chunk);
    switch (chunk.type) {
      case "start":
        model.runError = undefined;
        this.#askedIn = undefined;
        break;
      case "data-user-message":
      case "data-signal": {
        const { id, type } = chunk.data as { id: string; type: string };
        this.#askedIn = runId;
        model.dropQueued(id);
        if (type === "state" && !isPast) this.#loader.refreshInBackground();
        break;
      }
      case "step-start":
        // Started by a direct call, not by a message on the thread: its input is in the store.
        if (this.#askedIn !== runId && !isPast) this.#loader.refreshInBackground();
        this.#askedIn = runId;
        break;
      case "tripwire":
        model.runError = new AgentError("tripwire", chunk.payload.reason);
        break;
      case "error":
        model.runError = errorFromWire(chunk.payload.error);
        this.#endRun(isPast);
        break;
      case "abort":
        this.#endRun(isPast);
        break;
      case "finish":
        if (chunk.payload.stepResult.reason === "suspended") model.run = { runId, state: "suspended" };
        else this.#endRun(isPast);
        break;
      default:
        ignoreChunk<
          "step" | "content" | "input" | "call" | "question" | "progress" | "outcome" | "other" | "data"
        >(chunk);
    }
  }

  #endRun(isPast: boolean): void {
    this.#model.run = undefined;
    if (!isPast) this.#loader.refreshInBackground();
  }

  #giveUp(error: unknown): void {
    this.#model.status = "error";
    this.#model.error = error instanceof Error ? error : new Error(String(error));
    this.#publish.now();
  }
}
