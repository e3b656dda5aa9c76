import { AgentError, showValue } from "../errors.ts";
import type { Logger } from "../logger.ts";
import type { MastraMemory } from "../memory/memory.ts";
import {
  cleanAttributes,
  type CreatedAgentSignal,
  createSignal,
  type MessageInput,
  messageToSignal,
  type SignalInput,
} from "../signal/signal.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import type { Storage } from "../storage/storage.ts";
import { RUNS, ACTORS } from "../storage/thread-tables.ts";
import type { System } from "../system.ts";
import { readActor } from "../thread/actor.ts";
import { decideCall } from "../thread/decide-call.ts";
import { checkDecision } from "./check-decision.ts";
import { decideDelivery } from "../thread/delivery.ts";
import { advanceLane, checkLaneId, checkState, readLane } from "../thread/lane.ts";
import {
  listSuspendedRuns,
  type ListSuspendedRunsOptions,
  type SuspendedRun,
} from "../thread/list-suspended-runs.ts";
import type { Admitted } from "../thread/admission.ts";
import { send } from "../thread/send.ts";
import { type AgentThreadSubscription, ThreadReader } from "../thread/subscription.ts";
import type { Thread } from "../thread/thread.ts";
import type { ThreadRuntime } from "../thread/thread-runtime.ts";
import { checkOptions } from "./check-options.ts";
import {
  checkSend,
  checkTarget,
  type SendOptions,
  type SendResult,
  type SendStateResult,
  type StateSignalInput,
  toDelivery,
} from "./send-options.ts";
import type { ThreadsConfig } from "./thread-runs.ts";

/** What an agent lends to its threads. */
export interface ThreadsHost {
  readonly id: string;
  readonly name: string;
  /** What may change when the agent is registered with a host. */
  environment(): { system: System; logger: Logger; threads: ThreadsConfig | undefined };
  /** The runtime of the agent's store; a store of this process alone where the agent has no memory. */
  runtime(): ThreadRuntime | Promise<ThreadRuntime>;
  memory(): Promise<MastraMemory | undefined>;
}

export interface ToolApprovalOptions {
  resourceId?: string;
  threadId: string;
  toolCallId?: string;
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string };
}

/** An agent's door to its threads. It checks what comes in, finds the thread, and leaves the rest to it. */
export class AgentThreads {
  readonly #host: ThreadsHost;

  constructor(host: ThreadsHost) {
    this.#host = host;
  }

  sendMessage(message: MessageInput, options: SendOptions = {}): SendResult {
    return this.#send(messageToSignal(message), options, false);
  }

  queueMessage(message: MessageInput, options: SendOptions = {}): SendResult {
    if (options?.threadId === undefined || options.resourceId === undefined) {
      throw new AgentError(
        "invalid-argument",
        "queueMessage() needs resourceId and threadId: it opens a run of its own on a thread.",
      );
    }
    return this.#send(messageToSignal(message), options, true);
  }

  sendSignal(signal: SignalInput, options: SendOptions = {}): SendResult {
    return this.#send(signal, options, false);
  }

  async sendStateSignal(state: StateSignalInput, options: SendOptions): Promise<SendStateResult> {
    checkSend(options);
    const target = checkTarget(options);
    if (!target) throw new AgentError("invalid-argument", "sendStateSignal() needs resourceId and threadId.");
    const laneId = checkLaneId(state?.id);
    const { cacheKey, mode } = checkState(state);
    if (state.metadata !== undefined) checkMetadata("metadata", state.metadata);
    const memory = await this.#requireMemory("sendStateSignal()");
    const runtime = await this.#host.runtime();
    const domain = await memory.storage?.getStore("memory");
    const stored = await domain?.getThreadById({ threadId: target.threadId });
    if (!stored || stored.resourceId !== target.resourceId) {
      throw new AgentError(
        "not-found",
        `There is no thread "${target.threadId}" for resource "${target.resourceId}".`,
      );
    }
    const { storage } = runtime;
    const current = await readLane(storage, target.threadId, laneId);
    if (current?.cacheKey === cacheKey && current.mode === mode)
      return { accepted: true, skipped: true, reason: "unchanged" };
    const metadata = (version: number) => ({
      ...state.metadata,
      state: { id: laneId, threadId: target.threadId, cacheKey, version, mode },
      ...(state.value !== undefined && { value: state.value }),
      ...(state.delta !== undefined && { delta: state.delta }),
    });
    const input: SignalInput = {
      type: "state",
      contents: state.contents,
      metadata: metadata((current?.version ?? 0) + 1),
      ...(state.tagName !== undefined && { tagName: state.tagName }),
      ...(state.attributes && { attributes: state.attributes }),
    };
    let unchanged = false;
    const result = this.#send(input, options, false, async (signal) => {
      const seen = await readLane(storage, target.threadId, laneId);
      if (seen?.cacheKey === cacheKey && seen.mode === mode) {
        unchanged = true;
        throw new AgentError("conflict", "The state is current already.");
      }
      signal.metadata = JSON.parse(JSON.stringify(metadata((seen?.version ?? 0) + 1))) as Record<
        string,
        unknown
      >;
      return [
        advanceLane(target.threadId, laneId, seen, {
          cacheKey,
          mode,
          signalId: signal.id,
          now: this.#environment.system.now(),
        }),
      ];
    });
    try {
      await result.admitted;
    } catch (error) {
      if (unchanged) return { accepted: true, skipped: true, reason: "unchanged" };
      throw error;
    }
    return result;
  }

  async subscribe(options: {
    resourceId?: string;
    threadId: string;
    after?: number;
  }): Promise<AgentThreadSubscription> {
    const threadId = checkId("threadId", options?.threadId);
    if (options.resourceId !== undefined) checkId("resourceId", options.resourceId);
    if (options.after !== undefined && (!Number.isInteger(options.after) || options.after < 0)) {
      throw new AgentError(
        "invalid-argument",
        `after must be the number of a chunk, got ${showValue(options.after)}.`,
      );
    }
    const runtime = await this.#host.runtime();
    const resourceId = options.resourceId ?? (await runtime.ownerOf(threadId));
    const actor = await readActor(runtime.storage, threadId);
    if (actor && resourceId !== undefined && actor.resourceId !== resourceId) {
      throw new AgentError(
        "not-found",
        `There is no thread "${threadId}" for resource "${options.resourceId}".`,
      );
    }
    const after = options.after ?? (await this.#startingPoint(runtime, actor));
    // From here on nothing is awaited: a thread that nobody uses may be forgotten at any await.
    const owner = resourceId ?? actor?.resourceId;
    const thread = owner === undefined ? runtime.unclaimed(threadId) : runtime.thread(threadId, owner);
    thread.activeRunId ??= actor?.runId;
    const reader = new ThreadReader(thread, after, options.resourceId);
    return {
      stream: reader,
      read: (limit) => reader.read(limit),
      activeRunId: () => reader.thread.activeRunId ?? reader.thread.reserved?.runId ?? null,
      abort: () => this.abort(runtime, reader.thread),
      unsubscribe: () => reader.leave(),
    };
  }

  /** Aborts the active run of a thread, wherever it is carried out. */
  abort(runtime: ThreadRuntime, thread: Thread): boolean {
    const runId = thread.activeRunId ?? thread.reserved?.runId;
    if (runId === undefined) return false;
    if (thread.activeRunId === undefined) thread.abortWanted = runId;
    else if (thread.abortRun) thread.abortRun();
    // Reserved here and not yet running: it stops as it starts.
    else if (thread.run) thread.abortWanted = runId;
    else
      void this.#requestAbort(runtime, thread, runId).catch((error: unknown) =>
        this.#environment.logger.warn(`Run ${runId} could not be aborted`, error),
      );
    return true;
  }

  async sendToolApproval(
    options: ToolApprovalOptions,
  ): Promise<{ accepted: true; runId: string; toolCallId: string }> {
    if (typeof options?.approved !== "boolean") {
      throw new AgentError(
        "invalid-argument",
        `approved must be true or false, got ${showValue(options?.approved)}.`,
      );
    }
    if (options.resourceId !== undefined) checkId("resourceId", options.resourceId);
    const decision = checkDecision(options);
    const toolCallId = checkCallId(options.toolCallId);
    const runtime = await this.#host.runtime();
    const thread = await runtime.findThread(checkId("threadId", options.threadId), options.resourceId);
    const actor = await readActor(runtime.storage, thread.threadId);
    if (!actor || actor.resourceId !== thread.resourceId) {
      throw new AgentError("not-found", `No tool call of thread "${thread.threadId}" waits for an answer.`);
    }
    const decided = await decideCall(thread, { toolCallId, runId: actor.runId }, decision);
    return { accepted: true, ...decided };
  }

  /** Decides a call of a known run. */
  async decide(
    runId: string,
    toolCallId: string | undefined,
    decision: Parameters<typeof decideCall>[2],
  ): Promise<Thread> {
    const runtime = await this.#host.runtime();
    const [row] = await runtime.storage.select({
      table: RUNS,
      where: { id: checkId("runId", runId), agent_id: this.#host.id },
      limit: 1,
    });
    if (!row) throw new AgentError("not-found", `There is no run "${runId}" that waits for an answer.`);
    const thread = runtime.peek(row["thread_id"] as string, row["resource_id"] as string);
    await decideCall(thread, { toolCallId: checkCallId(toolCallId), runId }, decision);
    return thread;
  }

  async listSuspendedRuns(
    options: ListSuspendedRunsOptions = {},
  ): Promise<{ runs: SuspendedRun[]; total: number }> {
    const runtime = await this.#host.runtime();
    return listSuspendedRuns(runtime.storage, this.#host.id, options);
  }

  get #environment(): ReturnType<ThreadsHost["environment"]> {
    return this.#host.environment();
  }

  #send(
    input: SignalInput,
    options: SendOptions,
    queued: boolean,
    alongside?: (
      signal: CreatedAgentSignal,
    ) => ReturnType<NonNullable<Parameters<typeof send>[2]["alongside"]>>,
  ): SendResult {
    checkSend(options);
    const { system, threads } = this.#environment;
    const signal = createSignal(input, system, threads?.signal);
    const delivery = toDelivery(options, queued);
    const { idempotencyKey, ifActive, ifIdle } = options;
    if (idempotencyKey !== undefined) checkId("idempotencyKey", idempotencyKey);
    if (ifIdle?.streamOptions !== undefined) checkOptions(ifIdle.streamOptions);
    const attributes = {
      active: cleanAttributes(ifActive?.attributes),
      idle: cleanAttributes(ifIdle?.attributes),
    };
    const runtime = this.#host.runtime();
    const local = runtime instanceof Promise ? undefined : runtime;
    const target = checkTarget(options) ?? targetOfRun(local, options.runId);
    const thread = local?.thread(target.threadId, target.resourceId);
    const newRunId = system.newId();
    const guess = decideDelivery(
      {
        activeRunId: thread?.activeRunId ?? thread?.reserved?.runId,
        activeAgentId: thread?.activeRunId === undefined ? thread?.reserved?.agentId : thread.activeAgentId,
      },
      this.#host.id,
      delivery,
    );
    const admitted = this.#admit(runtime, target, {
      signal,
      agentId: this.#host.id,
      hasOwnId: input.id !== undefined,
      delivery,
      newRunId,
      streamOptions: ifIdle?.streamOptions,
      attributes,
      idempotencyKey,
      ...(alongside && { alongside: (decided) => (decided.action === "discard" ? [] : alongside(signal)) }),
    });
    if (thread && guess.action === "wake") this.#reserve(thread, newRunId, admitted);
    admitted.catch((error: unknown) =>
      this.#environment.logger.debug(`A message to thread "${target.threadId}" was not accepted`, error),
    );
    const persisted = guess.action === "persist" ? admitted.then(() => {}) : undefined;
    persisted?.catch(() => {});
    return {
      accepted: true,
      runId: guess.action === "deliver" ? guess.runId : ("runId" in guess && guess.runId) || newRunId,
      signal,
      ...(persisted && { persisted }),
      admitted,
    };
  }

  /** What is sent before the store has answered joins the run that is about to be opened. */
  #reserve(thread: Thread, runId: string, admitted: Promise<Admitted>): void {
    thread.reserved = { runId, agentId: this.#host.id };
    const release = () => {
      if (thread.reserved?.runId === runId) thread.reserved = undefined;
    };
    admitted.then((result) => result.runId !== runId && release(), release);
  }

  async #admit(
    pending: ThreadRuntime | Promise<ThreadRuntime>,
    target: { threadId: string; resourceId: string },
    request: Parameters<typeof send>[2],
  ): ReturnType<typeof send> {
    const { ifActive, ifIdle } = request.delivery;
    if (ifActive === "persist" || ifIdle === "persist") await this.#requireMemory(`"persist"`);
    const runtime = pending instanceof Promise ? await pending : pending;
    return send(runtime, runtime.thread(target.threadId, target.resourceId), request);
  }

  async #requireMemory(what: string): Promise<MastraMemory & { storage: Storage }> {
    const memory = await this.#host.memory();
    if (memory?.storage) return memory as MastraMemory & { storage: Storage };
    throw new AgentError(
      memory ? "storage-required" : "memory-required",
      `${what} stores something, and agent "${this.#host.name}" has no ${memory ? "storage" : "memory"}. Pass memory: new Memory({ storage }) to the agent.`,
    );
  }

  /** Where a reader without a number begins: at the start of the active run, or at the end of everything. */
  async #startingPoint(
    runtime: ThreadRuntime,
    actor: Awaited<ReturnType<typeof readActor>>,
  ): Promise<number> {
    if (!actor) return 0;
    if (actor.runId !== undefined) {
      const [row] = await runtime.storage.select({ table: RUNS, where: { id: actor.runId }, limit: 1 });
      if (row) return (row["first_seq"] as number) - 1;
    }
    return actor.nextSeq - 1;
  }

  async #requestAbort(runtime: ThreadRuntime, thread: Thread, runId: string): Promise<void> {
    await runtime.storage.commit([
      {
        op: "update",
        table: ACTORS,
        where: { thread_id: thread.threadId, run_id: runId },
        set: { abort_run: runId },
      },
    ]);
    thread.pump();
  }
}

function targetOfRun(
  runtime: ThreadRuntime | undefined,
  runId: string | undefined,
): { threadId: string; resourceId: string } {
  const thread = runId === undefined ? undefined : runtime?.threadOfRun(runId);
  if (thread) return { threadId: thread.threadId, resourceId: thread.resourceId };
  throw new AgentError(
    "not-found",
    runId === undefined
      ? "Say where the message goes: resourceId and threadId, or the runId of an active run."
      : `There is no active run "${runId}" in this process. Pass resourceId and threadId.`,
  );
}

function checkCallId(toolCallId: unknown): string | undefined {
  if (toolCallId === undefined || typeof toolCallId === "string") return toolCallId;
  throw new AgentError("invalid-argument", `toolCallId must be a string, got ${showValue(toolCallId)}.`);
}
