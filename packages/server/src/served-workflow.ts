import type { RequestContext } from "@selvedge/core";
import type { Storage } from "@selvedge/core/storage";
import type {
  ListRunsOptions,
  Run,
  Workflow,
  WorkflowResult,
  WorkflowStateField,
} from "@selvedge/core/workflows";
import type { NumberedWorkflowChunk, WorkflowState } from "@selvedge/protocol";
import type { AcceptedRequest, WorkflowRequests } from "./workflow-requests.ts";

/** A stored run. `lastSeq`: the number of its last event when it was read. */
export type StoredRun = WorkflowState & { lastSeq: number };

export interface ReadOptions {
  fields?: readonly WorkflowStateField[];
  withNestedWorkflows?: boolean;
}

/** What a request gives to a run. The run checks the rest. */
export interface RequestOptions {
  requestContext: RequestContext;
  outputOptions?: { includeState?: boolean; includeResumeLabels?: boolean };
  idempotencyKey?: string | undefined;
}

type Travel = RequestOptions & { step: string | string[] };

/** How often a run is read again if it changed meanwhile. */
const READS = 5;

/** A workflow as the server uses it: its runs by id, wherever they are executed. */
export class ServedWorkflow {
  readonly definition: Workflow;
  readonly #requests: WorkflowRequests;

  constructor(definition: Workflow, requests: WorkflowRequests) {
    this.definition = definition;
    this.#requests = requests;
  }

  get id(): string {
    return this.definition.id;
  }

  /** A run, with the numbers of its events at the same moment. */
  async read(runId: string, options: ReadOptions = {}): Promise<StoredRun | undefined> {
    const engine = this.definition.engine();
    let { end } = await engine.position(runId);
    for (let read = 1; ; read++) {
      const state = await this.definition.getWorkflowRunById(runId, options);
      if (!state) return undefined;
      const now = await engine.position(runId);
      if (now.end === end || read === READS) return { ...state, lastSeq: end };
      ({ end } = now);
    }
  }

  async list(
    options: ListRunsOptions,
  ): Promise<{ runs: Pick<WorkflowState, keyof RunFacts>[]; total: number }> {
    const { heads, total } = await this.definition.listRunHeads(options);
    const runs = heads.map(({ runId, workflowId, resourceId, status, createdAt, updatedAt }) => ({
      runId,
      workflowName: workflowId,
      ...(resourceId !== undefined && { resourceId }),
      status,
      createdAt: new Date(createdAt),
      updatedAt: new Date(updatedAt),
    }));
    return { runs, total };
  }

  async count(status: "running" | "suspended", resourceId: string | undefined): Promise<number> {
    if (!this.definition.committed) return 0;
    const options = { status, perPage: 1, ...(resourceId !== undefined && { resourceId }) };
    return (await this.definition.listRunHeads(options)).total;
  }

  async run(options: { runId: string; resourceId?: string; disableScorers?: boolean }): Promise<ServedRun> {
    return new ServedRun(this.definition, await this.definition.createRun(options), this.#requests);
  }
}

interface RunFacts {
  runId: unknown;
  workflowName: unknown;
  resourceId: unknown;
  status: unknown;
  createdAt: unknown;
  updatedAt: unknown;
}

/** A run as the server uses it. A request is accepted when it is stored, once for each idempotency key. */
export class ServedRun {
  readonly runId: string;
  readonly #definition: Workflow;
  readonly #run: Run;
  readonly #requests: WorkflowRequests;

  constructor(definition: Workflow, run: Run, requests: WorkflowRequests) {
    this.runId = run.runId;
    this.#definition = definition;
    this.#run = run;
    this.#requests = requests;
  }

  start(options: RequestOptions): Promise<AcceptedRequest> {
    return this.#send(options, async (request) => {
      await this.#run.startAsync(request);
      return { runId: this.runId, after: 0 };
    });
  }

  resume(options: RequestOptions): Promise<AcceptedRequest> {
    return this.#send(options, async (request) => {
      const { end } = await this.#position();
      await this.#run.resumeAsync(request);
      return { runId: this.runId, after: end };
    });
  }

  timeTravel(options: Travel): Promise<AcceptedRequest> {
    return this.#send(options, async (request) => {
      const { end } = await this.#position();
      const output = this.#run.timeTravelStream(request as Travel);
      const events = output[Symbol.asyncIterator]();
      // The first event shows that it was accepted; a refusal rejects the result.
      await Promise.race([events.next(), output.result]);
      await events.return?.();
      return { runId: this.runId, after: end };
    });
  }

  /** Continues a run whose process died. */
  async restart(requestContext?: RequestContext): Promise<AcceptedRequest> {
    const { end } = await this.#position();
    await this.#definition.engine().wake(this.#definition as never, this.runId, requestContext);
    return { runId: this.runId, after: end };
  }

  /** The result, when the run ends or waits for a person. */
  result({ outputOptions }: Pick<RequestOptions, "outputOptions">): Promise<WorkflowResult> {
    return this.#run.restart(outputOptions ? { outputOptions } : {});
  }

  cancel(): Promise<{ message: string }> {
    return this.#run.cancel();
  }

  /** The number before the first event that is kept. */
  async first(): Promise<number> {
    return (await this.#position()).start;
  }

  /** The events after a number, without an end. */
  events(after: number): AsyncIterator<NumberedWorkflowChunk> {
    return this.#definition.engine().read(this.runId, after);
  }

  #position(): Promise<{ start: number; end: number }> {
    return this.#definition.engine().position(this.runId);
  }

  #send(
    { idempotencyKey, ...request }: RequestOptions,
    send: (request: Omit<RequestOptions, "idempotencyKey">) => Promise<AcceptedRequest>,
  ): Promise<AcceptedRequest> {
    const storage = this.#definition.host?.getStorage() as Storage | undefined;
    return this.#requests.send(storage, this.#run, idempotencyKey, () => send(request));
  }
}
