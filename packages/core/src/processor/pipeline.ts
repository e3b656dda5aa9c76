import type { AgentChunk } from "@selvedge/protocol";
import { AgentError, errorMessage } from "../errors.ts";
import type { MessageList, MessageSource } from "../message/message-list.ts";
import type { ModelCallOptions } from "../model/model.ts";
import type { Patience } from "../patience.ts";
import type { StepResult } from "./step-result.ts";
import type {
  ComputedState,
  ComputeStateSignalArgs,
  ProcessAPIErrorArgs,
  ProcessInputResult,
  ProcessInputStepArgs,
  ProcessLLMRequestArgs,
  ProcessLLMResponseArgs,
  ProcessOutputResultArgs,
  ProcessOutputStepArgs,
  ProcessOutputStreamArgs,
  ProcessToolResultArgs,
  Processor,
  ProcessorContext,
  ReadyResponse,
  StepOverrides,
} from "./processor.ts";
import { applyMessages, applyOverrides, listArgs } from "./apply-messages.ts";
import { forEachHook, type Hook, HOOKS } from "./hooks.ts";
import { Tripwire } from "./tripwire.ts";

/** What a run provides to all its processors; `abort` and `state` belong to each processor. */
export type SharedContext = Omit<ProcessorContext, "abort" | "state">;

interface Bound {
  processor: Processor;
  context: ProcessorContext;
}

type StreamResult = AgentChunk | AgentChunk[] | null | undefined | void;
type Rest<Args> = Omit<Args, keyof ProcessorContext>;

/**
 * The processors of one run. Each hook is a fold over the processors that have it; an unused hook costs nothing. An
 * error thrown by a processor, other than by `abort`, fails the run with the processor's name.
 */
export class Pipeline {
  readonly #bound: Bound[];
  readonly #hooks: Record<Hook, readonly Bound[]>;
  readonly #streamArgs: Map<Bound, ProcessOutputStreamArgs> = new Map();
  readonly #patience: Patience;
  /** Puts chunks on the stream that a processor held back; they pass through the rest of the pipeline. */
  onRelease: (
    take: () => AgentChunk[],
    pass: (chunk: AgentChunk, seen: readonly AgentChunk[]) => Promise<AgentChunk | AgentChunk[] | null>,
  ) => void = () => {};

  /** `share` is only called if there are processors. */
  constructor(
    input: readonly Processor[],
    output: readonly Processor[],
    share: () => SharedContext,
    patience: Patience,
  ) {
    this.#patience = patience;
    const all = [...new Set([...input, ...output])];
    if (all.length === 0) {
      this.#bound = [];
      this.#hooks = NO_HOOKS;
      return;
    }
    const shared = share();
    this.#bound = all.map((processor) => ({ processor, context: bind(processor, shared) }));
    const lists = { input, output, either: all };
    this.#hooks = forEachHook((hook) =>
      this.#bound.filter(
        ({ processor }) => lists[HOOKS[hook]].includes(processor) && typeof processor[hook] === "function",
      ),
    );
  }

  get seesStepInput(): boolean {
    return this.#hooks.processInputStep.length > 0;
  }

  get tellsStates(): boolean {
    return this.#hooks.computeStateSignal.length > 0;
  }

  get seesRequests(): boolean {
    return this.#hooks.processLLMRequest.length > 0;
  }

  get seesStream(): boolean {
    return this.#hooks.processOutputStream.length > 0;
  }

  get seesResult(): boolean {
    return this.#hooks.processOutputResult.length > 0;
  }

  get seesReplies(): boolean {
    return this.#hooks.processLLMResponse.length > 0;
  }

  get seesToolResults(): boolean {
    return this.#hooks.processToolResult.length > 0;
  }

  get seesErrors(): boolean {
    return this.#hooks.processAPIError.length > 0;
  }

  /** Whether the step's output must be in the list before its tools run. */
  get seesSteps(): boolean {
    return this.#hooks.processOutputStep.length > 0;
  }

  set retryCount(count: number) {
    for (const { context } of this.#bound) context.retryCount = count;
    this.#streamArgs.clear();
  }

  async input(list: MessageList): Promise<void> {
    await this.#onList("processInput", list, "input", () => ({}));
  }

  /** Returns the changes for the step; the list is changed in place. */
  async inputStep(
    list: MessageList,
    step: Rest<Omit<ProcessInputStepArgs, "messages" | "messageList" | "systemMessages">>,
  ): Promise<StepOverrides> {
    const overrides: StepOverrides = {};
    for (const bound of this.#hooks.processInputStep) {
      const args = { ...bound.context, ...step, ...overrides, ...listArgs(list) } as ProcessInputStepArgs;
      const result = await this.#guard(bound, () => bound.processor.processInputStep!(args));
      Object.assign(overrides, applyOverrides(list, result));
      list.invalidate();
    }
    return overrides;
  }

  /** Asks each processor that owns a lane for its state. */
  async computeStates(
    list: MessageList,
    step: { stepNumber: number; steps: StepResult[] },
    look: (
      laneId: string,
    ) => Promise<
      Rest<
        Omit<ComputeStateSignalArgs, "messages" | "messageList" | "systemMessages" | "stepNumber" | "steps">
      >
    >,
    tell: (state: ComputedState & { id: string }) => Promise<void>,
  ): Promise<void> {
    for (const bound of this.#hooks.computeStateSignal) {
      const { processor, context } = bound;
      const laneId = processor.stateId ?? processor.id;
      const args = { ...context, ...step, ...listArgs(list), ...(await look(laneId)) };
      const state = await this.#guard(bound, () => processor.computeStateSignal!(args));
      if (state) await tell({ ...state, id: state.id ?? laneId });
    }
  }

  /** The request as it is sent, or a processor's ready reply. */
  async request(
    request: ModelCallOptions,
    step: Omit<Rest<ProcessLLMRequestArgs>, "request">,
  ): Promise<{ request: ModelCallOptions } | { response: ReadyResponse }> {
    let current = request;
    for (const bound of this.#hooks.processLLMRequest) {
      const args = { ...bound.context, ...step, request: current };
      const result = await this.#guard(bound, () => bound.processor.processLLMRequest!(args));
      if (result && "response" in result) return result;
      current = result ?? current;
    }
    return { request: current };
  }

  /** An outgoing chunk: `null` if a processor dropped it, a list if one replaced it with several. */
  async outputStream(
    chunk: AgentChunk,
    seen: readonly AgentChunk[],
    processors: readonly Bound[] = this.#hooks.processOutputStream,
  ): Promise<AgentChunk | AgentChunk[] | null> {
    let current: AgentChunk | AgentChunk[] = chunk;
    for (const bound of processors) {
      const result: StreamResult = Array.isArray(current)
        ? await this.#streamAll(bound, current, seen)
        : await this.#stream(bound, current, seen);
      if (result === null) return null;
      if (result) current = result;
    }
    return current;
  }

  #stream(bound: Bound, chunk: AgentChunk, seen: readonly AgentChunk[]): Promise<StreamResult> | undefined {
    const isData = chunk.type.startsWith("data-");
    if (isData && !bound.processor.processDataParts) return undefined;
    let args = this.#streamArgs.get(bound);
    // A data chunk may arrive while the processor still works on another one.
    if (!args || isData)
      args = {
        ...bound.context,
        part: chunk,
        streamParts: seen,
        release: (take) => this.#release(bound, take),
      };
    if (!isData) this.#streamArgs.set(bound, args);
    args.part = chunk;
    return this.#guard(bound, () => bound.processor.processOutputStream!(args));
  }

  #release(bound: Bound, take: () => AgentChunk[]): void {
    const all = this.#hooks.processOutputStream;
    const rest = all.slice(all.indexOf(bound) + 1);
    this.onRelease(take, (chunk, seen) => this.outputStream(chunk, seen, rest));
  }

  async #streamAll(bound: Bound, chunks: AgentChunk[], seen: readonly AgentChunk[]): Promise<AgentChunk[]> {
    const passed: AgentChunk[] = [];
    for (const chunk of chunks) {
      const result = await this.#stream(bound, chunk, seen);
      if (result !== null) passed.push(...(Array.isArray(result) ? result : [result ?? chunk]));
    }
    return passed;
  }

  async response(step: Rest<ProcessLLMResponseArgs>): Promise<void> {
    for (const bound of this.#hooks.processLLMResponse) {
      await this.#guard(bound, () => bound.processor.processLLMResponse!({ ...bound.context, ...step }));
    }
  }

  async outputStep(
    list: MessageList,
    step: Rest<Omit<ProcessOutputStepArgs, "messages" | "messageList" | "systemMessages">>,
  ): Promise<void> {
    await this.#onList("processOutputStep", list, "response", () => step);
  }

  async toolResult(call: Rest<ProcessToolResultArgs>): Promise<unknown> {
    let result = call.result;
    for (const bound of this.#hooks.processToolResult) {
      const args = { ...bound.context, ...call, result };
      const changed = await this.#guard(bound, () => bound.processor.processToolResult!(args));
      if (changed) result = changed.result;
    }
    return result;
  }

  /** Lets processors see the whole answer; the list is changed in place. */
  async outputResult(list: MessageList, result: ProcessOutputResultArgs["result"]): Promise<void> {
    await this.#onList("processOutputResult", list, "response", () => ({ result }));
  }

  /** Whether a processor wants the rejected model call to be retried. */
  async apiError(error: unknown, stepNumber: number, messageList: MessageList): Promise<boolean> {
    let retry = false;
    for (const bound of this.#hooks.processAPIError) {
      const args: ProcessAPIErrorArgs = { ...bound.context, error, stepNumber, messageList };
      if ((await this.#guard(bound, () => bound.processor.processAPIError!(args)))?.retry) retry = true;
    }
    return retry;
  }

  async #onList(
    hook: "processInput" | "processOutputStep" | "processOutputResult",
    list: MessageList,
    source: MessageSource,
    more: () => object,
  ): Promise<void> {
    for (const bound of this.#hooks[hook]) {
      const args = { ...bound.context, ...more(), ...listArgs(list) };
      const result = await this.#guard(
        bound,
        () => bound.processor[hook]!(args as never) as ProcessInputResult,
      );
      applyMessages(list, result, source);
      list.invalidate();
    }
  }

  async #guard<T>({ processor }: Bound, call: () => T | Promise<T>): Promise<T> {
    try {
      return await this.#patience.for(`Processor "${processor.id}"`, call());
    } catch (error) {
      if (error instanceof Tripwire || AgentError.is(error)) throw error;
      throw new AgentError("processor-failed", `Processor "${processor.id}" failed: ${errorMessage(error)}`, {
        cause: error,
      });
    }
  }
}

const NO_HOOKS: Record<Hook, readonly Bound[]> = forEachHook(() => []);

function bind(processor: Processor, shared: SharedContext): ProcessorContext {
  return {
    ...shared,
    state: {},
    abort(reason, options): never {
      throw new Tripwire(processor.id, reason, options);
    },
  };
}
