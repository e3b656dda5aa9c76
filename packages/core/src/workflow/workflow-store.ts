import type { WorkflowRunRecord, WorkflowRunSnapshot } from "@selvedge/protocol";
import type { Storage } from "../storage/storage.ts";
import type { WorkflowSnapshots } from "../storage/workflow-snapshots.ts";
import { insert } from "../storage/writes.ts";
import type { System } from "../system.ts";
import { deleteWrites } from "./delete-runs.ts";
import { listRuns } from "./list-runs.ts";
import { readGraph, readRun } from "./run-rows.ts";
import { toRunRecord, toSnapshot } from "./run-snapshot.ts";
import { encodeValue, toCell } from "./value-codec.ts";
import { WORKFLOW_RUNS, WORKFLOW_STEPS } from "./workflow-tables.ts";

type Address = Parameters<WorkflowSnapshots["loadWorkflowSnapshot"]>[0];

/** `storage.getStore("workflows")`: stored runs as snapshots. They are views of the rows, made when they are asked for. */
export class WorkflowStore implements WorkflowSnapshots {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  async loadWorkflowSnapshot({ runId, workflowName }: Address): Promise<WorkflowRunSnapshot | null> {
    const stored = await readRun(this.#storage, runId);
    if (!stored || (workflowName !== undefined && stored.row.workflow_id !== workflowName)) return null;
    return toSnapshot({ ...stored.image, graph: await readGraph(this.#storage, stored.row) });
  }

  async getWorkflowRunById({ runId, workflowName }: Address): Promise<WorkflowRunRecord | null> {
    const stored = await readRun(this.#storage, runId);
    if (!stored || (workflowName !== undefined && stored.row.workflow_id !== workflowName)) return null;
    return toRunRecord({ ...stored.image, graph: await readGraph(this.#storage, stored.row) });
  }

  async listWorkflowRuns(
    options: Parameters<WorkflowSnapshots["listWorkflowRuns"]>[0] = {},
  ): Promise<{ runs: WorkflowRunRecord[]; total: number }> {
    const { workflowName, fromDate, toDate, page = 0, perPage = 100, resourceId, status } = options;
    const { images, total } = await listRuns(this.#storage, {
      ...(workflowName !== undefined && { workflowId: workflowName }),
      ...(fromDate && { from: fromDate.getTime() }),
      ...(toDate && { to: toDate.getTime() }),
      ...(resourceId !== undefined && { resourceId }),
      ...(status && { statuses: [status] }),
      limit: perPage,
      offset: page * perPage,
    });
    return { runs: images.map((image) => toRunRecord(image)), total };
  }

  async deleteWorkflowRunById({ runId }: Address): Promise<void> {
    await this.#storage.commit(deleteWrites([runId]), { key: runId });
  }

  /** Stores a run from elsewhere, to be read. A run of this store is replaced. */
  async persistWorkflowSnapshot({
    runId,
    workflowName = "",
    resourceId,
    snapshot,
  }: Parameters<WorkflowSnapshots["persistWorkflowSnapshot"]>[0]): Promise<void> {
    const now = Math.trunc(this.#system.now());
    const { input, ...steps } = snapshot.context;
    const rows = Object.entries(steps).map(([path, result], index) => {
      const step = result as Record<string, unknown>;
      return insert(WORKFLOW_STEPS, {
        run_id: runId,
        path: path.replaceAll(".", "/"),
        number: index + 1,
        status: (step["status"] ?? "success") as "success",
        attempt: 1,
        input: toCell(step["payload"], "payload"),
        ...(step["output"] !== undefined && { output: toCell(step["output"], "output") }),
        ...(step["error"] !== undefined && { error: encodeValue(step["error"], "error") }),
        ...(step["suspendPayload"] !== undefined && { suspend: toCell(step["suspendPayload"], "payload") }),
        started_at: Number(step["startedAt"] ?? now),
        ended_at: Number(step["endedAt"] ?? now),
      });
    });
    const run = insert(WORKFLOW_RUNS, {
      run_id: runId,
      workflow_id: workflowName,
      ...(resourceId !== undefined && { resource_id: resourceId }),
      status: snapshot.status,
      fence: 1,
      next_seq: 1,
      first_seq: 1,
      input: toCell(input, "input"),
      ...(snapshot.result !== undefined && { result: toCell(snapshot.result, "result") }),
      ...(snapshot.error !== undefined && { error: encodeValue(snapshot.error, "error") }),
      created_at: now,
      updated_at: now,
    });
    await this.#storage.commit([...deleteWrites([runId]), run, ...rows], { key: runId });
  }
}
