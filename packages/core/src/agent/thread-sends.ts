import { AgentError } from "../errors.ts";
import {
  cleanAttributes,
  type CreatedAgentSignal,
  createSignal,
  type MessageInput,
  messageToSignal,
  type SignalInput,
} from "../signal/signal.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import type { Admitted } from "../thread/admit/admission.ts";
import { decideDelivery } from "../thread/admit/delivery.ts";
import { advanceLane, checkLaneId, checkState, readLane, type StateSignalInput } from "../signal/lane.ts";
import { send } from "../thread/admit/send.ts";
import type { Thread } from "../thread/hold/thread.ts";
import type { LocalThreads } from "../thread/hold/local-threads.ts";
import { checkOptions } from "./check-options.ts";
import {
  checkSend,
  checkTarget,
  type SendOptions,
  type SendResult,
  type SendStateResult,
  type SendToThreadOptions,
  toDelivery,
} from "./send-options.ts";
import { requireMemory, type ThreadsHost } from "./threads-host.ts";

/** What an agent sends to threads. It checks what comes in, finds the thread, and leaves the rest to it. */
export class ThreadSends {
  readonly #host: ThreadsHost;

  constructor(host: ThreadsHost) {
    this.#host = host;
  }

  sendMessage(message: MessageInput, options: SendOptions): SendResult {
    return this.#send(messageToSignal(message), options, false);
  }

  queueMessage(message: MessageInput, options: SendToThreadOptions): SendResult {
    if (options?.threadId === undefined || options.resourceId === undefined) {
      throw new AgentError(
        "invalid-argument",
        "queueMessage() needs resourceId and threadId: it opens a run of its own on a thread.",
      );
    }
    return this.#send(messageToSignal(message), options, true);
  }

  sendSignal(signal: SignalInput, options: SendOptions): SendResult {
    return this.#send(signal, options, false);
  }

  async sendStateSignal(state: StateSignalInput, options: SendToThreadOptions): Promise<SendStateResult> {
    checkSend(options);
    const target = checkTarget(options);
    if (!target) throw new AgentError("invalid-argument", "sendStateSignal() needs resourceId and threadId.");
    const laneId = checkLaneId(state?.id);
    const { cacheKey, mode } = checkState(state);
    if (state.metadata !== undefined) checkMetadata("metadata", state.metadata);
    const memory = await requireMemory(this.#host, "sendStateSignal()");
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

  get #environment(): ReturnType<ThreadsHost["environment"]> {
    return this.#host.environment();
  }

  #send(
    input: SignalInput,
    // Callers without types may leave it out, and are told what is missing.
    options: SendOptions = {} as SendOptions,
    queued: boolean,
    alongside?: (
      signal: CreatedAgentSignal,
    ) => ReturnType<NonNullable<Parameters<typeof send>[2]["alongside"]>>,
  ): SendResult {
    checkSend(options);
    const { system, threads, durableContextKeys } = this.#environment;
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
        activeRunId: thread?.activeRun?.runId,
        activeAgentId: thread?.activeRun?.agentId,
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
      durableContextKeys,
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
    const release = thread.reserve(runId, this.#host.id);
    admitted.then((result) => result.runId !== runId && release(), release);
  }

  async #admit(
    pending: LocalThreads | Promise<LocalThreads>,
    target: { threadId: string; resourceId: string },
    request: Parameters<typeof send>[2],
  ): ReturnType<typeof send> {
    const { ifActive, ifIdle } = request.delivery;
    if (ifActive === "persist" || ifIdle === "persist") await requireMemory(this.#host, `"persist"`);
    const runtime = pending instanceof Promise ? await pending : pending;
    return send(runtime, runtime.thread(target.threadId, target.resourceId), request);
  }
}

function targetOfRun(
  runtime: LocalThreads | undefined,
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
