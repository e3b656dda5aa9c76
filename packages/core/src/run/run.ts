import type { AgentChunk, FinishReason, JSONValue, StoredMessage, Usage } from "@selvedge/protocol";
import type { StateSignalInput } from "../signal/lane.ts";
import { OwnAbortController, passOnAbort } from "../abort.ts";
import type { Logger } from "../logger.ts";
import type { MessageList } from "../message/message-list.ts";
import type { ModelCandidate, ModelConfig } from "../model/model.ts";
import { Pipeline, type SharedContext } from "../processor/pipeline.ts";
import type { Processor } from "../processor/processor.ts";
import type { Tripwire } from "../processor/tripwire.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import { type CreatedAgentSignal, createSignal, type SignalInput } from "../signal/signal.ts";
import { echoOf } from "../signal/echo.ts";
import type { Storage } from "../storage/storage.ts";
import type { System } from "../system.ts";
import type { OpenSpan, Telemetry } from "../telemetry/telemetry.ts";
import type { ToolsInput } from "../tool/tool.ts";
import type { ToolSet } from "../tool/tool-set.ts";
import type { PayloadTransform } from "../tool/transform.ts";
import { Patience } from "../patience.ts";
import type { AgentExecutionOptions, RunLimits } from "./run-options.ts";
import { RunStream } from "./run-stream.ts";
import { RunTimers } from "./run-timers.ts";
import type { RunEnd, RunJournal, StepAddition, StepRecord } from "./run-journal.ts";
import { sendStateSignal, tellStates } from "./state-signals.ts";
import type { StepBuilder } from "./step-builder.ts";
import { threadStateOf } from "./thread-state-of.ts";
import type { StepResult } from "../processor/step-result.ts";
import { ObjectFormat } from "../model/structured-output.ts";
import { NO_USAGE, addUsage } from "../model/usage.ts";

/** Everything a run needs, resolved. Made by the agent, read by the loop. */
export interface RunSpec {
  runId: string;
  agent: { id: string; name: string };
  system: System;
  logger: Logger;
  list: MessageList;
  model: ModelConfig;
  resolveModel(config: ModelConfig): ModelCandidate[] | Promise<ModelCandidate[]>;
  tools: ToolSet;
  compileTools(tools: ToolsInput): ToolSet;
  options: AgentExecutionOptions;
  requestContext: RequestContext;
  mastra: unknown;
  belongings: { workspace?: unknown; browser?: unknown };
  threadId: string | undefined;
  resourceId: string | undefined;
  journal: RunJournal | undefined;
  /** The store of the thread. */
  storage: Storage | undefined;
  /** Whether a tool call may wait for a person. A subagent's may not, because no one could answer it. */
  mayWait: boolean;
  /** Signals among the input. They go to subscribers once they are stored. */
  signals: readonly CreatedAgentSignal[];
  inputProcessors: readonly Processor[];
  outputProcessors: readonly Processor[];
  limits: RunLimits;
  transform: PayloadTransform | undefined;
  telemetry: Telemetry | undefined;
  format: ObjectFormat | undefined;
  waitUntil(work: Promise<unknown>): void;
  /** What the agent's profile fixed for this run; stored with its input. */
  pinned: Record<string, JSONValue> | undefined;
  /** Data that belongs to a step, for the commit that stores it. */
  alongside: ((step: StepRecord) => Promise<StepAddition>) | undefined;
  /** Keeps a run without a thread that waits, with the step whose calls are open. */
  park(run: Run, step: StepRecord): void;
}

export type RunStatus = "running" | "success" | "failed" | "suspended" | "canceled" | "tripwire";

/** A tool call that waits for a decision. */
export interface OpenCall {
  toolCallId: string;
  toolName: string;
  args: unknown;
  requiresApproval: boolean;
  suspendPayload?: unknown;
  resumeSchema: string;
  /** The rule that made it ask. */
  reason?: string;
  /** What bounds the call, if it asks for approval. See `ToolPermission`. */
  bounds?: string;
  /** It asks for the second time: the first answer no longer counts. */
  again?: true;
}

/** One activity of an agent: its events, its steps and how it ended. The loop writes it; outputs read it. */
export class Run {
  readonly spec: RunSpec;
  readonly steps: StepResult[] = [];
  readonly controller: AbortController = new OwnAbortController();
  readonly pipeline: Pipeline;
  readonly stream: RunStream;
  readonly patience: Patience;
  /** For the time limits of its model calls and tools. */
  readonly timers: RunTimers;
  /** Settles, without ever rejecting, when the run is over and its last event was pushed. */
  readonly finished: Promise<void>;
  status: RunStatus = "running";
  finishReason: FinishReason = "unknown";
  error: unknown;
  tripwire: Tripwire | undefined;
  object: unknown;
  openCalls: OpenCall[] = [];
  warnings: unknown[] = [];
  totalUsage: Usage = NO_USAGE;
  span: OpenSpan | undefined;
  responseId: string;
  /** Signals that processors sent before the input was stored. */
  early: CreatedAgentSignal[] | undefined = [];
  /** Steps that were taken before this process went on with the run; they are not in `steps`. */
  earlierSteps = 0;
  /** Whether the stop conditions leave room for another step. */
  mayContinue = true;
  /** Steps tried again on a processor's wish. */
  retries = 0;
  /** Puts the last step on the stream, where that waits for the processors of the whole answer. */
  untold: (() => Promise<void>) | undefined;
  /** The step under way: an app's own chunks are stored with it. */
  step: StepBuilder | undefined;
  format: ObjectFormat | undefined;
  readonly #later: CreatedAgentSignal[] = [];
  readonly #states: (StateSignalInput & { id: string })[] = [];
  readonly #unfollow: (() => void) | undefined;
  readonly #close: () => void;

  constructor(spec: RunSpec) {
    this.spec = spec;
    this.responseId = this.newResponseId();
    this.format = spec.format ?? formatOf(spec.outputProcessors);
    const { abortSignal } = spec.options;
    this.timers = new RunTimers(spec.system);
    this.patience = new Patience(spec.system, this.controller.signal, spec.limits.processorTimeoutMs);
    if (spec.transform) spec.transform.wait = (answer) => this.patience.for("A transform", answer);
    this.pipeline = new Pipeline(
      spec.inputProcessors,
      spec.outputProcessors,
      () => this.#processorContext(),
      this.patience,
    );
    this.stream = new RunStream(this);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.finished = promise;
    this.#close = resolve;
    this.#unfollow = abortSignal && passOnAbort(abortSignal, this.controller);
  }

  #processorContext(): SharedContext {
    const { spec } = this;
    return {
      requestContext: spec.requestContext,
      runtimeContext: spec.requestContext,
      agent: spec.agent,
      abortSignal: this.controller.signal,
      retryCount: 0,
      threadId: spec.threadId,
      resourceId: spec.resourceId,
      runId: spec.runId,
      writer: { custom: (chunk) => this.stream.custom(chunk) },
      waitUntil: spec.waitUntil,
      threadState: threadStateOf(spec),
      logger: spec.logger,
      system: spec.system,
      startSpan: (name, attributes) => spec.telemetry?.start(name, attributes, this.span),
      sendSignal: this.sendSignal.bind(this),
      sendStateSignal: (state) => sendStateSignal(this, state),
    };
  }

  /** Processors or callbacks run after the last step, so the end may take a while. */
  get looksBack(): boolean {
    return (
      this.pipeline.seesResult || this.format !== undefined || this.spec.options.onStepFinish !== undefined
    );
  }

  get aborted(): boolean {
    return this.controller.signal.aborted;
  }

  /**
   * Ends a run that went well, with the chunk that says so. Returns false when signals joined it at the last moment:
   * then it is not over. Throws when a processor objects to the chunk.
   */
  async finish(chunk: AgentChunk): Promise<boolean> {
    const chunks = await this.stream.prepare(chunk);
    const ended = await this.#end({ state: "done", mayContinue: this.mayContinue, chunks });
    if (ended) await this.stream.reveal(chunks);
    return ended;
  }

  /** Ends a run that did not go well. Processors have no say in it, and neither has a store that fails. */
  async conclude(state: RunEnd["state"], error: unknown, chunks: AgentChunk[]): Promise<void> {
    const displayed = await this.stream.display(chunks);
    try {
      await this.#end({
        state,
        mayContinue: false,
        chunks: displayed,
        ...(error !== undefined && { error }),
      });
    } catch (failure) {
      this.spec.journal?.abandon();
      this.spec.logger.error(`The end of run ${this.spec.runId} could not be stored`, failure);
    }
    await this.stream.reveal(displayed);
  }

  async #end(end: RunEnd): Promise<boolean> {
    return this.spec.journal ? this.spec.journal.end(end) : true;
  }

  /** Calls back into the app. What a callback throws is logged: it must not break the run. */
  async call<Name extends "onChunk" | "onFinish" | "onStepFinish" | "onError" | "onAbort">(
    name: Name,
    event: Parameters<NonNullable<AgentExecutionOptions[Name]>>[0],
  ): Promise<void> {
    const callback = this.spec.options[name] as ((event: unknown) => unknown) | undefined;
    if (!callback) return;
    try {
      await this.patience.for(name, callback(event));
    } catch (error) {
      this.spec.logger.warn(`${name} of run ${this.spec.runId} threw`, error);
    }
  }

  /** Tells the last step, if that has waited. */
  async tellLast(): Promise<void> {
    const tell = this.untold;
    this.untold = undefined;
    await tell?.();
  }

  addStep(step: StepResult): void {
    this.steps.push(step);
    this.totalUsage = addUsage(this.totalUsage, step.usage);
    for (const warning of step.warnings) this.warnings.push(warning);
  }

  /** The header of the message that the current steps write. */
  responseMessage(): StoredMessage {
    return {
      id: this.responseId,
      role: "assistant",
      createdAt: new Date(this.spec.system.now()),
      content: { format: 2, parts: [] },
      ...(this.spec.threadId !== undefined && { threadId: this.spec.threadId }),
      ...(this.spec.resourceId !== undefined && { resourceId: this.spec.resourceId }),
    };
  }

  /**
   * A processor's signal. Before the input is stored it waits, so that it comes after the input; during a step it waits
   * for the step's end, so that it does not come between a call and its result.
   */
  async sendSignal(input: SignalInput): Promise<CreatedAgentSignal> {
    const signal = createSignal(input, this.spec.system);
    this.stream.weigh(echoOf(signal, this.spec.runId));
    if (this.step) {
      this.#later.push(signal);
      return signal;
    }
    if (this.early) {
      this.early.push(signal);
      // Nothing of a run is visible before its input is stored: this goes into that commit.
      this.spec.journal?.publish(echoOf(signal, this.spec.runId));
    } else await this.spec.journal?.record(signal, []);
    await this.join(signal);
    return signal;
  }

  /** The signals that waited for the step, for who stores them with it. */
  takeLater(): CreatedAgentSignal[] {
    return this.#later.splice(0);
  }

  /** Whether something waits for `joinLater`. */
  get hasMoreToSay(): boolean {
    return this.#later.length > 0 || this.#states.length > 0;
  }

  /** Signals that waited for a step that was not stored, or that came too late to be stored with it; then states. */
  async joinLater(): Promise<void> {
    for (const signal of this.takeLater()) {
      await this.spec.journal?.record(signal, []);
      await this.join(signal);
    }
    if (this.#states.length > 0) await tellStates(this);
  }

  tellLater(state: StateSignalInput & { id: string }): void {
    this.#states.push(state);
  }

  takeStates(): (StateSignalInput & { id: string })[] {
    return this.#states.splice(0);
  }

  /** The next output of the model starts a new message. */
  newResponseId(): string {
    const { system, agent, threadId, resourceId } = this.spec;
    this.responseId = system.newId({
      idType: "message",
      source: "agent",
      entityId: agent.id,
      role: "assistant",
      ...(threadId !== undefined && { threadId }),
      ...(resourceId !== undefined && { resourceId }),
    });
    return this.responseId;
  }

  /** A stored signal joins the conversation. The next output of the model starts a new message. */
  async join(signal: CreatedAgentSignal): Promise<void> {
    this.spec.list.append(signal.toDBMessage(), "response");
    this.newResponseId();
    await this.stream.reveal([echoOf(signal, this.spec.runId)]);
  }

  close(): void {
    this.#unfollow?.();
    this.patience.close();
    this.timers.close();
    this.stream.end();
    this.#close();
  }
}

function formatOf(processors: readonly Processor[]): ObjectFormat | undefined {
  const options = processors.findLast((processor) => processor.structuredOutput)?.structuredOutput;
  return options && new ObjectFormat(options, false);
}
