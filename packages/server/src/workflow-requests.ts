import { createHash } from "node:crypto";
import { AgentError, type System } from "@selvedge/core";
import { type Domain, insert, remove, type Storage, type Table } from "@selvedge/core/storage";
import { FairTable } from "@selvedge/core/guards";
import type { Run } from "@selvedge/core/workflows";

/** A request that a run has accepted, and the number of the run's last event before it. */
export interface AcceptedRequest {
  runId: string;
  after: number;
}

type RequestRow = { id: string; run_id: string; after: number; created_at: number };

const REQUESTS: Table<RequestRow> = {
  name: "selvedge_workflow_requests",
  columns: { id: "text", run_id: "text", after: "integer", created_at: "integer" },
  key: ["id"],
  partition: "run_id",
  indexes: [{ columns: ["created_at"] }],
};

const DOMAIN: Domain<Storage> = {
  name: "workflow-requests",
  version: 1,
  tables: [REQUESTS],
  open: (storage) => storage,
};

/** For this long, the same key means the same request. */
const KEPT_MS = 24 * 3_600_000;
/** Without a store. */
const KEPT = { total: 10_000, each: 10_000 };
/** How often, and after how long, another process's row is looked for. */
const LOOKS = 5;
const LOOK_MS = 100;

/**
 * Requests with an idempotency key. The run itself executes a start or a resume once; this keeps the response for a client
 * that repeats the request. If the process dies between the two, a repeated request is rejected with 409.
 */
export class WorkflowRequests {
  readonly #system: System;
  readonly #underway = new Map<string, Promise<AcceptedRequest>>();
  readonly #kept = new FairTable<AcceptedRequest>(KEPT);

  constructor(system: System) {
    this.#system = system;
  }

  /**
   * Sends a request to a run, unless one with the same key was accepted before. A key counts for one owner's run of one
   * workflow: another's must not lead to that run.
   */
  send(
    storage: Storage | undefined,
    { runId, workflowId, resourceId }: Pick<Run, "runId" | "workflowId" | "resourceId">,
    key: string | undefined,
    request: () => Promise<AcceptedRequest>,
  ): Promise<AcceptedRequest> {
    if (key === undefined) return request();
    const id = createHash("sha256")
      .update(JSON.stringify([workflowId, resourceId ?? null, runId, key]))
      .digest("hex");
    const known = this.#underway.get(id);
    if (known) return known;
    const sent = this.#once(storage, id, request).finally(() => this.#underway.delete(id));
    this.#underway.set(id, sent);
    return sent;
  }

  async #once(
    storage: Storage | undefined,
    id: string,
    request: () => Promise<AcceptedRequest>,
  ): Promise<AcceptedRequest> {
    const opened = await storage?.domain(DOMAIN);
    const known = await this.#find(opened, id);
    if (known) return known;
    try {
      const accepted = await request();
      await this.#keep(opened, id, accepted);
      return accepted;
    } catch (error) {
      if (!AgentError.is(error) || error.status !== 409) throw error;
      // Another process may have sent the same request, and not noted it yet.
      for (let look = 0; look < LOOKS; look++) {
        const first = await this.#find(opened, id);
        if (first) return first;
        if (!opened) break;
        await new Promise<void>((resolve) => this.#system.setTimer(LOOK_MS, resolve));
      }
      throw error;
    }
  }

  async #find(storage: Storage | undefined, id: string): Promise<AcceptedRequest | undefined> {
    if (!storage) return this.#kept.get(id);
    const [row] = await storage.select({ table: REQUESTS, where: { id }, limit: 1 });
    return row && { runId: row.run_id, after: row.after };
  }

  async #keep(storage: Storage | undefined, id: string, accepted: AcceptedRequest): Promise<void> {
    const { runId, after } = accepted;
    if (!storage) {
      this.#kept.set(id, runId, accepted);
      return;
    }
    const now = Math.trunc(this.#system.now());
    await storage.commit([
      insert(REQUESTS, { id, run_id: runId, after, created_at: now }, "ignore"),
      remove(REQUESTS, { created_at: { lt: now - KEPT_MS } }),
    ]);
  }
}
