import type { AgentChunk, FinishReason, ProviderMetadata, StoredMessage, Usage } from "@selvedge/protocol";
import type { MessageList } from "../message/message-list.ts";
import type { InferOutput, Schema } from "../schema/schema.ts";
import type { Run, RunStatus } from "../run/run.ts";
import { type ScoringData, scoringDataOf } from "../run/scoring-data.ts";
import { type RunResponse, runResponse } from "../run/run-response.ts";
import type { StepResult, ToolCallView, ToolResultView } from "../processor/step-result.ts";
import { ChunkStream } from "./chunk-stream.ts";
import { ElementReader } from "./element-reader.ts";

/** The object a schema describes; `undefined` if none was requested. */
export type OutputObject<Output> = Output extends Schema ? InferOutput<Output> : undefined;

export interface TripwireInfo {
  reason: string;
  retry: boolean;
  metadata: unknown;
  processorId: string;
}

/** The complete result of a run: what `generate()` returns. */
export interface FullOutput<Output extends Schema | undefined = undefined> {
  text: string;
  object: OutputObject<Output>;
  steps: StepResult[];
  finishReason: FinishReason;
  usage: Usage;
  totalUsage: Usage;
  toolCalls: ToolCallView[];
  toolResults: ToolResultView[];
  reasoning: StepResult["reasoning"];
  reasoningText: string | undefined;
  sources: StepResult["sources"];
  files: StepResult["files"];
  warnings: unknown[];
  request: StepResult["request"];
  response: RunResponse;
  providerMetadata: ProviderMetadata | undefined;
  error: unknown;
  tripwire: TripwireInfo | undefined;
  runId: string;
  traceId: string | undefined;
  suspendPayload: any;
  resumeSchema: string | undefined;
  /** All messages of this run, with the history it read. */
  messages: StoredMessage[];
  /** The history alone. */
  rememberedMessages: StoredMessage[];
  /** With `returnScorerData`: what a scorer of this run gets. */
  scoringData?: ScoringData;
}

/**
 * A run as its caller sees it: streams to read while it runs, promises for when it is done. Streams are independent:
 * each reads from the first chunk. The run continues whether or not it is read.
 *
 * Promises reject if the run failed. An abort, a tripwire and a suspension are outcomes, not failures.
 */
export class RunOutput<Output extends Schema | undefined = undefined> {
  readonly runId: string;
  readonly #run: Run;

  constructor(run: Run) {
    this.#run = run;
    this.runId = run.spec.runId;
  }

  get fullStream(): ChunkStream<AgentChunk> {
    return this.#stream((chunk) => chunk);
  }

  get textStream(): ChunkStream<string> {
    return this.#stream((chunk) => (chunk.type === "text-delta" ? chunk.payload.text : undefined));
  }

  /** The object as it grows; the last value is the object itself. */
  get objectStream(): ChunkStream<OutputObject<Output>> {
    return this.#stream((chunk) =>
      chunk.type === "object" || chunk.type === "object-result"
        ? (chunk.object as OutputObject<Output>)
        : undefined,
    );
  }

  /** The older name of `objectStream`. */
  get partialObjectStream(): ChunkStream<OutputObject<Output>> {
    return this.objectStream;
  }

  /** For an array: each element once, when it is complete. */
  get elementStream(): ChunkStream<OutputObject<Output> extends (infer Element)[] ? Element : never> {
    return new ChunkStream(() => new ElementReader(this.objectStream[Symbol.asyncIterator]())) as never;
  }

  get status(): RunStatus {
    return this.#run.status;
  }

  get error(): unknown {
    return this.#run.error;
  }

  get tripwire(): TripwireInfo | undefined {
    const tripwire = this.#run.tripwire;
    if (!tripwire) return undefined;
    const { reason, retry, metadata, processorId } = tripwire;
    return { reason, retry, metadata, processorId };
  }

  get messageList(): MessageList {
    return this.#run.spec.list;
  }

  get traceId(): string | undefined {
    return this.#run.span?.traceId;
  }

  get text(): Promise<string> {
    return this.#last((step) => step?.text ?? "");
  }
  get object(): Promise<OutputObject<Output>> {
    return this.#done((run) => run.object as OutputObject<Output>);
  }
  get steps(): Promise<StepResult[]> {
    return this.#done((run) => run.steps);
  }
  get content(): Promise<StepResult["content"]> {
    return this.#last((step) => step?.content ?? []);
  }
  get finishReason(): Promise<FinishReason> {
    return this.#done((run) => run.finishReason);
  }
  get usage(): Promise<Usage> {
    return this.#last((step, run) => step?.usage ?? run.totalUsage);
  }
  get totalUsage(): Promise<Usage> {
    return this.#done((run) => run.totalUsage);
  }
  get toolCalls(): Promise<ToolCallView[]> {
    return this.#done((run) => run.steps.flatMap((step) => step.toolCalls));
  }
  get toolResults(): Promise<ToolResultView[]> {
    return this.#done((run) => run.steps.flatMap((step) => step.toolResults));
  }
  get reasoning(): Promise<StepResult["reasoning"]> {
    return this.#last((step) => step?.reasoning ?? []);
  }
  get reasoningText(): Promise<string | undefined> {
    return this.#last((step) => step?.reasoningText);
  }
  get sources(): Promise<StepResult["sources"]> {
    return this.#done((run) => run.steps.flatMap((step) => step.sources));
  }
  get files(): Promise<StepResult["files"]> {
    return this.#done((run) => run.steps.flatMap((step) => step.files));
  }
  get warnings(): Promise<unknown[]> {
    return this.#done((run) => run.warnings);
  }
  get request(): Promise<StepResult["request"]> {
    return this.#last((step) => step?.request ?? {});
  }
  get response(): Promise<RunResponse> {
    return this.#last((_, run) => runResponse(run));
  }
  get providerMetadata(): Promise<ProviderMetadata | undefined> {
    return this.#last((step) => step?.providerMetadata);
  }
  /** The prompt of the first waiting tool call; `undefined` if none waits. */
  get suspendPayload(): Promise<any> {
    return this.#done(suspendPayload);
  }
  get resumeSchema(): Promise<string | undefined> {
    return this.#done((run) => run.openCalls[0]?.resumeSchema);
  }

  /** Waits for the run to end. Never rejects: `onError` receives the failure. */
  readonly consumeStream = async (options?: { onError?: (error: unknown) => void }): Promise<void> => {
    await this.#run.finished;
    if (this.#run.status === "failed") options?.onError?.(this.#run.error);
  };

  /** The complete result. Rejects if the run failed. */
  readonly getFullOutput = (): Promise<FullOutput<Output>> =>
    this.#done((run) => fullOutput<Output>(run, this.tripwire));

  #stream<Out>(pick: (chunk: AgentChunk) => Out | undefined): ChunkStream<Out> {
    return new ChunkStream(() => this.#run.stream.events.read(pick));
  }

  #done<Value>(read: (run: Run) => Value): Promise<Value> {
    const value = this.#run.finished.then(() => {
      if (this.#run.status === "failed") throw this.#run.error;
      return read(this.#run);
    });
    // Destructuring the output creates promises that may never be awaited; the failure is on the stream and in `error`.
    value.catch(() => {});
    return value;
  }

  #last<Value>(read: (step: StepResult | undefined, run: Run) => Value): Promise<Value> {
    return this.#done((run) => read(run.steps.at(-1), run));
  }
}

function fullOutput<Output extends Schema | undefined>(
  run: Run,
  tripwire: TripwireInfo | undefined,
): FullOutput<Output> {
  const last = run.steps.at(-1);
  const { list } = run.spec;
  return {
    text: last?.text ?? "",
    object: run.object as OutputObject<Output>,
    steps: run.steps,
    finishReason: run.finishReason,
    usage: last?.usage ?? run.totalUsage,
    totalUsage: run.totalUsage,
    toolCalls: run.steps.flatMap((step) => step.toolCalls),
    toolResults: run.steps.flatMap((step) => step.toolResults),
    reasoning: last?.reasoning ?? [],
    reasoningText: last?.reasoningText,
    sources: run.steps.flatMap((step) => step.sources),
    files: run.steps.flatMap((step) => step.files),
    warnings: run.warnings,
    request: last?.request ?? {},
    response: runResponse(run),
    providerMetadata: last?.providerMetadata,
    error: run.error,
    tripwire,
    runId: run.spec.runId,
    traceId: run.span?.traceId,
    suspendPayload: suspendPayload(run),
    resumeSchema: run.openCalls[0]?.resumeSchema,
    messages: list.get.all.db(),
    rememberedMessages: list.get.remembered.db(),
    ...(run.spec.options.returnScorerData && { scoringData: scoringDataOf(run.spec) }),
  };
}

function suspendPayload(run: Run): unknown {
  const call = run.openCalls[0];
  if (!call) return undefined;
  const { toolCallId, toolName, args, requiresApproval } = call;
  return requiresApproval ? { toolCallId, toolName, args } : call.suspendPayload;
}
