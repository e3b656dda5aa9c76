import { AgentError } from "../errors.ts";
import {
  cleanAttributes,
  createSignal,
  type MessageInput,
  messageToSignal,
  type SignalInput,
} from "../signal/signal.ts";
import { checkId, checkMetadata } from "../storage/check-id.ts";
import { advanceLane, checkLaneId, checkState, readLane, type StateSignalInput } from "../signal/lane.ts";
import {
  type Admitted,
  type AdmittedSignal,
  decideDelivery,
  type SendRequest,
  type ThreadAddress,
  type Threads,
} from "../thread/threads.ts";
import type { AgentEnvironment } from "./agent-environment.ts";
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
import { noThread } from "../storage/no-thread.ts";

/** What an agent sends to threads. It checks what comes in, finds the thread, and leaves the rest to it. */
export class ThreadSends {
  readonly #environment: AgentEnvironment;

  constructor(environment: AgentEnvironment) {
    this.#environment = environment;
  }

  sendMessage(message: MessageInput, options: SendOptions): SendResult {
    return this.#send(messageToSignal(message), options, false);
  }

  queueMessage(message: MessageInput, options: SendToThreadOptions): SendResult {
    if (options?.threadId === undefined || options.resourceId === undefined) {
      throw new AgentError(
        "invalid-argument",
        "queueMessage() needs resourceId and threadId: it starts a separate run on a thread.",
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
    const memory = await this.#environment.requireMemory("sendStateSignal()");
    const { storage } = await this.#environment.threads();
    const domain = await memory.storage?.getStore("memory");
    const stored = await domain?.getThreadById({ threadId: target.threadId });
    if (!stored || stored.resourceId !== target.resourceId) {
      throw noThread(target.threadId, target.resourceId);
    }
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
    const result = this.#send(input, options, false, async (_, signal) => {
      const seen = await readLane(storage, target.threadId, laneId);
      if (seen?.cacheKey === cacheKey && seen.mode === mode) {
        unchanged = true;
        throw new AgentError("conflict", "The state is already current.");
      }
      const json = JSON.stringify(metadata((seen?.version ?? 0) + 1));
      const next = { cacheKey, mode, signalId: signal.id, now: this.#environment.system.now() };
      return {
        signal: signal.with({ metadata: JSON.parse(json) as Record<string, unknown> }),
        writes: [advanceLane(target.threadId, laneId, seen, next)],
      };
    });
    try {
      await result.admitted;
    } catch (error) {
      if (unchanged) return { accepted: true, skipped: true, reason: "unchanged" };
      throw error;
    }
    return result;
  }

  #send(
    input: SignalInput,
    // Callers without types may omit it; the error says what is missing.
    options: SendOptions = {} as SendOptions,
    queued: boolean,
    alongside?: SendRequest["alongside"],
  ): SendResult {
    checkSend(options);
    const { id: agentId, system, threadsConfig, durableContextKeys } = this.#environment;
    const signal = createSignal(input, system, threadsConfig.signal);
    const delivery = toDelivery(options, queued);
    const { idempotencyKey, ifActive, ifIdle } = options;
    if (idempotencyKey !== undefined) checkId("idempotencyKey", idempotencyKey);
    if (ifIdle?.streamOptions !== undefined) checkOptions(ifIdle.streamOptions);
    const attributes = {
      active: cleanAttributes(ifActive?.attributes),
      idle: cleanAttributes(ifIdle?.attributes),
    };
    const threads = this.#environment.threads();
    const local = threads instanceof Promise ? undefined : threads;
    const target = checkTarget(options) ?? targetOfRun(local, options.runId);
    const known = local?.known(target);
    const newRunId = system.newId({ idType: "run", source: "agent", entityId: agentId });
    const guess = decideDelivery(
      { activeRunId: known?.activeRun?.runId, activeAgentId: known?.activeRun?.agentId },
      agentId,
      delivery,
    );
    const send = async (request: SendRequest): Promise<AdmittedSignal> => {
      if (delivery.ifActive === "persist" || delivery.ifIdle === "persist")
        await this.#environment.requireMemory(`"persist"`);
      return (local ?? (await threads)).send(target, request);
    };
    const admitting = send({
      signal,
      agentId,
      hasOwnId: input.id !== undefined,
      delivery,
      newRunId,
      streamOptions: ifIdle?.streamOptions,
      durableContextKeys,
      attributes,
      idempotencyKey,
      ...(alongside && { alongside }),
    });
    const admitted = admitting.then(({ signal: accepted, ...outcome }): Admitted => {
      result.signal = accepted;
      return outcome;
    });
    if (known && guess.action === "wake") {
      // What is sent before the store has answered joins the run that is about to be opened.
      const release = known.reserve(newRunId, agentId);
      admitted.then(({ runId }) => runId !== newRunId && release(), release);
    }
    admitted.catch((error: unknown) =>
      this.#environment.logger.debug(`A message to thread "${target.threadId}" was not accepted`, error),
    );
    const persisted = guess.action === "persist" ? admitted.then(() => {}) : undefined;
    persisted?.catch(() => {});
    const result: SendResult = {
      accepted: true,
      runId: guess.action === "deliver" ? guess.runId : ("runId" in guess && guess.runId) || newRunId,
      signal,
      ...(persisted && { persisted }),
      admitted,
    };
    return result;
  }
}

function targetOfRun(threads: Threads | undefined, runId: string | undefined): ThreadAddress {
  const thread = runId === undefined ? undefined : threads?.known({ runId });
  if (thread) return { threadId: thread.threadId, resourceId: thread.resourceId };
  throw new AgentError(
    "not-found",
    runId === undefined
      ? "Pass resourceId and threadId, or the runId of an active run."
      : `There is no active run "${runId}" in this process. Pass resourceId and threadId.`,
  );
}
