import type { NumberedWorkflowChunk } from "@selvedge/protocol";
import type {
  ResumeWorkflowBody,
  RouteCalls,
  StartWorkflowBody,
  TimeTravelBody,
} from "@selvedge/protocol/routes";
import { call, type CallResult } from "./call.ts";
import { checkName } from "./check-name.ts";
import { ChunkStream, type Place, type StreamEnd } from "./chunk-stream.ts";
import type { Connection } from "./connection.ts";
import { newId } from "./new-id.ts";
import type { RequestInput, Transport } from "./transport.ts";
import { END_OF_WORKFLOW, WorkflowStream } from "./workflow-stream.ts";

/** An object or a `RequestContext`, whose JSON is its entries. */
type ContextLike = Record<string, unknown> | { toJSON(): Record<string, unknown> };

type Options<Body> = Omit<Body, "requestContext" | "resourceId" | "disableScorers"> & {
  requestContext?: ContextLike;
  signal?: AbortSignal;
};

export type StartWorkflowOptions = Options<StartWorkflowBody>;
export type ResumeWorkflowOptions = Options<ResumeWorkflowBody>;
export type TimeTravelOptions = Options<TimeTravelBody>;
export type RestartWorkflowOptions = Pick<StartWorkflowOptions, "requestContext" | "signal">;

/** By default a stream ends when the run is suspended. With `closeOnSuspend: false`, it continues until the run ends. */
type Streamed<Given> = Given & { closeOnSuspend?: boolean };

type WithResult =
  | "startWorkflowRunAsync"
  | "resumeWorkflowRunAsync"
  | "timeTravelWorkflowRunAsync"
  | "restartWorkflowRunAsync";
type WithStream = "streamWorkflowRun" | "resumeWorkflowRunStream" | "timeTravelWorkflowRunStream";

/**
 * A run of a workflow on a server. `start` returns when the start is stored, `startAsync` when the run ends or waits,
 * `stream` with the events; the same goes for `resume` and `timeTravel`. Each sends a key, so a request whose answer was
 * lost can be repeated and still counts once.
 */
export class ClientWorkflowRun {
  readonly workflowId: string;
  readonly runId: string;
  readonly #transport: Transport;
  readonly #creation: { resourceId?: string; disableScorers?: boolean };

  /** `creation`: what is stored when the run starts. */
  constructor(
    transport: Transport,
    workflowId: string,
    runId: string,
    creation: { resourceId?: string; disableScorers?: boolean } = {},
  ) {
    this.#transport = transport;
    this.#creation = creation;
    this.workflowId = workflowId;
    this.runId = checkName("a run", runId);
  }

  start(options: StartWorkflowOptions = {}): Promise<CallResult<"startWorkflowRun">> {
    return this.#send("startWorkflowRun", { ...this.#creation, ...options });
  }

  startAsync(options: StartWorkflowOptions = {}): Promise<CallResult<WithResult>> {
    return this.#send("startWorkflowRunAsync", { ...this.#creation, ...options });
  }

  stream(options: Streamed<StartWorkflowOptions> = {}): Promise<WorkflowStream> {
    return this.#open("streamWorkflowRun", { ...this.#creation, ...options });
  }

  resume(options: ResumeWorkflowOptions = {}): Promise<CallResult<"resumeWorkflowRun">> {
    return this.#send("resumeWorkflowRun", options);
  }

  resumeAsync(options: ResumeWorkflowOptions = {}): Promise<CallResult<WithResult>> {
    return this.#send("resumeWorkflowRunAsync", options);
  }

  /** Without data, step or label it resumes nothing and returns the events of the run. */
  resumeStream(options: Streamed<ResumeWorkflowOptions> = {}): Promise<WorkflowStream> {
    return this.#open("resumeWorkflowRunStream", options);
  }

  /**
   * The events of the run, from its first or after the number `offset`. It ends when the run ends or waits; with
   * `follow: true`, when you leave it.
   */
  async observeStream(
    options: { offset?: number; follow?: boolean; signal?: AbortSignal } = {},
  ): Promise<WorkflowStream> {
    const { offset, follow = false, signal } = options;
    const connection = await this.#observe({ after: offset }, follow, signal, true);
    return this.#stream(connection, offset, { follow, end: follow ? undefined : END_OF_WORKFLOW }, signal);
  }

  /** Cancels the run, unless it has ended. */
  cancel(): Promise<CallResult<"cancelWorkflowRun">> {
    return this.#call("cancelWorkflowRun", { params: { runId: this.runId }, query: {}, body: {} }, true);
  }

  /** Continues a run whose process died. Servers also do this automatically. */
  restart(options: RestartWorkflowOptions = {}): Promise<CallResult<"restartWorkflowRun">> {
    return this.#send("restartWorkflowRun", options);
  }

  restartAsync(options: RestartWorkflowOptions = {}): Promise<CallResult<WithResult>> {
    return this.#send("restartWorkflowRunAsync", options);
  }

  /** Executes the run again from a step. Needs the grant `control`. */
  timeTravel(options: TimeTravelOptions): Promise<CallResult<"timeTravelWorkflowRun">> {
    return this.#send("timeTravelWorkflowRun", options);
  }

  timeTravelAsync(options: TimeTravelOptions): Promise<CallResult<WithResult>> {
    return this.#send("timeTravelWorkflowRunAsync", options);
  }

  timeTravelStream(options: Streamed<TimeTravelOptions>): Promise<WorkflowStream> {
    return this.#open("timeTravelWorkflowRunStream", options);
  }

  async #open(
    name: WithStream,
    options: Streamed<StartWorkflowOptions | ResumeWorkflowOptions | TimeTravelOptions>,
  ): Promise<WorkflowStream> {
    const { closeOnSuspend, signal } = options;
    const connection = await this.#send(name, options);
    const follow = closeOnSuspend === false;
    return this.#stream(connection, connection.after, { follow, end: END_OF_WORKFLOW }, signal);
  }

  #stream(
    connection: Connection<NumberedWorkflowChunk>,
    after: number | undefined,
    { follow, end }: { follow: boolean; end: StreamEnd<NumberedWorkflowChunk> | undefined },
    signal: AbortSignal | undefined,
  ): WorkflowStream {
    const stream = new ChunkStream<NumberedWorkflowChunk>(
      connection,
      (place, leaving) => this.#observe(place, follow, leaving),
      { after, end },
    );
    signal?.addEventListener("abort", () => stream.leave(), { once: true });
    return new WorkflowStream(this.runId, stream);
  }

  #observe(
    { after }: Place,
    follow: boolean,
    signal: AbortSignal | undefined,
    repeatable = false,
  ): Promise<Connection<NumberedWorkflowChunk>> {
    return this.#call(
      "observeWorkflowRun",
      { body: { after, ...(follow && { follow }) }, signal },
      repeatable,
    );
  }

  #send<Name extends keyof RouteCalls>(
    name: Name,
    { signal, ...body }: { signal?: AbortSignal; idempotencyKey?: string },
  ): Promise<CallResult<Name>> {
    const headers = { "idempotency-key": body.idempotencyKey ?? newId() };
    return this.#call(name, { body, headers, signal });
  }

  #call<Name extends keyof RouteCalls>(
    name: Name,
    input: RequestInput,
    repeatable?: boolean,
  ): Promise<CallResult<Name>> {
    return call(
      this.#transport,
      name,
      { query: { runId: this.runId }, ...input, params: { workflowId: this.workflowId, ...input.params } },
      repeatable === undefined ? {} : { repeatable },
    );
  }
}
