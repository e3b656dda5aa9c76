import type { NotificationOptions, SendNotificationResult } from "../agent/agent-notifications.ts";
import type { NotificationSignalInput } from "../notification/notification-input.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { SignalContents, SignalInput } from "../signal/signal.ts";
import type { Admitted } from "../thread/threads.ts";
import type { SessionAnswers } from "./session-answers.ts";
import type { SessionCore, SessionHost } from "./session-core.ts";
import type { SessionThreads } from "./session-threads.ts";

/** A message in the form a model reads. */
export interface SessionContents {
  contents: SignalContents;
  /** The id of the message. Default: a new one. */
  id?: string | undefined;
  requestContext?: RequestContext | undefined;
  /** A message that is sent again with the same key counts once. */
  idempotencyKey?: string | undefined;
}

/** The outcome of a send, and when the session moved to its thread. */
export interface Sent {
  admitted: Admitted;
  /** While this is unchanged, events of the message arrive. */
  epoch: number;
}

/** How a signal is delivered, with and without an active run. */
export type SignalDelivery = Pick<NotificationOptions, "ifActive" | "ifIdle">;

/** What a session sends to its thread, and how it aborts its run. */
export class SessionSends {
  readonly #core: SessionCore;
  readonly #threads: SessionThreads;
  readonly #answers: SessionAnswers;
  #following: Promise<void> = Promise.resolve();
  #creating: Promise<unknown> | undefined;
  #abortRequested = false;
  /** Counts aborts. */
  #aborts = 0;

  constructor(core: SessionCore, threads: SessionThreads, answers: SessionAnswers) {
    this.#core = core;
    this.#threads = threads;
    this.#answers = answers;
  }

  get isAbortRequested(): boolean {
    return this.#abortRequested && this.#core.thread.activeRunId !== null;
  }

  /** Sends a prepared message and returns the outcome. */
  async send({ contents, id, requestContext, idempotencyKey }: SessionContents): Promise<Sent> {
    const aborts = this.#aborts;
    const { agent, target, streamOptions, epoch } = await this.#address(requestContext);
    const key = idempotencyKey === undefined ? {} : { idempotencyKey };
    const message = { contents, ...(id !== undefined && { id }) };
    const sent = agent.sendMessage(message, { ...target, ...key, ifIdle: { streamOptions } });
    const admitted = await sent.admitted;
    if (admitted.duplicate) return { admitted, epoch };
    if (this.#aborts === aborts) this.#abortRequested = false;
    else if (admitted.action === "wake") this.#core.thread.abort();
    // It waits where the run reads next; only then is the question answered that keeps the run from reading.
    if (admitted.action === "deliver" && admitted.runId !== undefined)
      await this.#answers.interrupt(admitted.runId);
    return { admitted, epoch };
  }

  /** Like `send`, for a separate run after the active one. */
  queue({ contents, id, requestContext, idempotencyKey }: SessionContents): Promise<Admitted> {
    // One after the other, because the count is announced after each.
    const turn = this.#following.then(async () => {
      const { agent, target, streamOptions } = await this.#address(requestContext);
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const message = { contents, ...(id !== undefined && { id }) };
      const sent = agent.queueMessage(message, { ...target, ...key, ifIdle: { streamOptions } });
      const admitted = await sent.admitted;
      await this.#core.thread.countQueued();
      return admitted;
    });
    this.#following = turn.then(
      () => {},
      () => {},
    );
    return turn;
  }

  async signal(signal: SignalInput, how: SignalDelivery): Promise<Admitted> {
    const { agent, ...options } = await this.#delivery(how);
    return agent.sendSignal(signal, options).admitted;
  }

  async notify(notification: NotificationSignalInput, how: SignalDelivery): Promise<SendNotificationResult> {
    const { agent, ...options } = await this.#delivery(how);
    return agent.sendNotificationSignal(notification, options);
  }

  abort(): void {
    this.#abortRequested = true;
    this.#aborts++;
    this.#core.thread.abort();
  }

  async #delivery(
    how: SignalDelivery,
  ): Promise<SignalDelivery & { agent: SessionHost["agent"]; threadId: string; resourceId: string }> {
    const { agent, target, streamOptions } = await this.#address(undefined);
    const ifIdle = { ...how.ifIdle, streamOptions: { ...how.ifIdle?.streamOptions, ...streamOptions } };
    return { agent, ...target, ...how, ifIdle };
  }

  /** Where messages of this session go, and what their runs are made of. */
  async #address(requestContext: RequestContext | undefined): Promise<{
    epoch: number;
    agent: SessionHost["agent"];
    target: { threadId: string; resourceId: string };
    streamOptions: { profile: { sessionId: string }; requestContext?: RequestContext };
  }> {
    const core = this.#core;
    await core.ready();
    core.checkOpen();
    do {
      if (core.threadId === undefined)
        await (this.#creating ??= this.#threads.create().finally(() => (this.#creating = undefined)));
      await core.thread.followed();
      core.checkOpen();
      // Another process may have moved the session.
    } while (!core.thread.isHeard);
    const { row } = core;
    return {
      epoch: core.thread.events.epoch,
      agent: core.host.agent,
      target: { threadId: row.threadId!, resourceId: row.resourceId },
      streamOptions: {
        profile: { sessionId: row.id },
        // A copy, so that the caller does not see what the controller adds for a run.
        ...(requestContext && { requestContext: new RequestContext(requestContext.entries()) }),
      },
    };
  }
}
