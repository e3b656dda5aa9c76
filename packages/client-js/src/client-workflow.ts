import type { RouteCalls } from "@selvedge/protocol/routes";
import { call, type CallResult } from "./call.ts";
import { checkName } from "./check-name.ts";
import { ClientWorkflowRun } from "./client-workflow-run.ts";
import { newId } from "./new-id.ts";
import type { RequestInput, Transport } from "./transport.ts";

/** A workflow on a server. */
export class ClientWorkflow {
  readonly workflowId: string;
  readonly #transport: Transport;

  constructor(transport: Transport, workflowId: string) {
    this.#transport = transport;
    this.workflowId = checkName("a workflow", workflowId);
  }

  /** Its schemas, steps and graph. */
  details(): Promise<CallResult<"getWorkflow">> {
    return this.#call("getWorkflow");
  }

  /** Its runs, newest first. */
  runs(
    query: Omit<RouteCalls["listWorkflowRuns"]["query"], "fromDate" | "toDate"> & {
      fromDate?: Date | string;
      toDate?: Date | string;
    } = {},
  ): Promise<CallResult<"listWorkflowRuns">> {
    const { fromDate, toDate, ...rest } = query;
    return this.#call("listWorkflowRuns", {
      query: { ...rest, fromDate: toText(fromDate), toDate: toText(toDate) },
    });
  }

  /** A run. `fields` limits what is read, for example to `["steps"]`. */
  runById(
    runId: string,
    options: { fields?: readonly string[]; withNestedWorkflows?: boolean } = {},
  ): Promise<CallResult<"getWorkflowRun">> {
    const { fields, ...rest } = options;
    return this.#call("getWorkflowRun", {
      params: { runId },
      query: { ...rest, fields: fields?.join(",") },
    });
  }

  deleteRunById(runId: string): Promise<CallResult<"deleteWorkflowRun">> {
    return this.#call("deleteWorkflowRun", { params: { runId } });
  }

  /** Creates a run, or returns the one with this id. Start it with one of its methods. */
  async createRun(
    options: { runId?: string; resourceId?: string; disableScorers?: boolean } = {},
  ): Promise<ClientWorkflowRun> {
    const { runId = newId(), ...body } = options;
    await this.#call("createWorkflowRun", { query: { runId }, body }, true);
    return new ClientWorkflowRun(this.#transport, this.workflowId, runId, body);
  }

  /** An existing run, without a request to the server. */
  getRun(runId: string): ClientWorkflowRun {
    return new ClientWorkflowRun(this.#transport, this.workflowId, runId);
  }

  /** Continues active runs whose processes died. Needs the grant `control`. */
  restartAllActiveWorkflowRuns(): Promise<CallResult<"restartAllWorkflowRuns">> {
    return this.#call("restartAllWorkflowRuns", { body: {} });
  }

  #call<Name extends keyof RouteCalls>(
    name: Name,
    input: RequestInput = {},
    repeatable?: boolean,
  ): Promise<CallResult<Name>> {
    return call(
      this.#transport,
      name,
      { ...input, params: { workflowId: this.workflowId, ...input.params } },
      repeatable === undefined ? {} : { repeatable },
    );
  }
}

function toText(time: Date | string | undefined): string | undefined {
  return time instanceof Date ? time.toISOString() : time;
}
