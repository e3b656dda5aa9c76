import type { System } from "../system.ts";
import { type OmRecordRow, recordKey } from "./om-tables.ts";

/** Where the log of a thread is. */
export interface OmAddress {
  scope: "thread" | "resource";
  threadId: string;
  resourceId: string;
}

export function keyOf({ scope, threadId, resourceId }: OmAddress): string {
  return recordKey(scope, threadId, resourceId);
}

/** The `source` of the row that has the sums of a thread. */
export function partOf({ scope, threadId }: OmAddress): string {
  return scope === "thread" ? "" : threadId;
}

export function newRecord(
  address: OmAddress,
  source: string,
  system: System,
  config: unknown = {},
): OmRecordRow {
  const now = Math.trunc(system.now());
  return {
    thread_id: keyOf(address),
    source,
    id: system.newId(),
    scope: address.scope,
    resource_id: address.resourceId,
    generation: 0,
    version: 0,
    log_tokens: 0,
    reflected: 0,
    reflected_tokens: 0,
    total_observed: 0,
    usage: {},
    config,
    hints: {},
    pending_tokens: 0,
    pending_count: 0,
    planned_id: null,
    planned_tokens: 0,
    covered_seq: 0,
    covered_id: null,
    cursor_seq: 0,
    shown_seq: 0,
    omitted_count: 0,
    omitted_tokens: 0,
    unbound: null,
    last_model: null,
    last_active_at: null,
    last_observed_at: null,
    created_at: now,
    updated_at: now,
  };
}
