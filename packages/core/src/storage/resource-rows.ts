import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import { toMillis } from "./message-rows.ts";
import type { Row, Write } from "./storage.ts";
import { RESOURCES, type ResourceRow } from "./tables.ts";
import { insert, update } from "./writes.ts";

/** What is known about the user or thing that owns threads. */
export interface StoredResource {
  id: string;
  workingMemory?: string;
  metadata?: Record<string, unknown>;
  /** 1 when first stored, plus one with every change. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

export function toResource(row: ResourceRow): StoredResource {
  return {
    id: row.id,
    ...(row.working_memory !== null && { workingMemory: row.working_memory }),
    ...(row.metadata !== null && { metadata: row.metadata as Record<string, unknown> }),
    version: row.version,
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  };
}

/** Creates the resource at version 0 if it is absent, then changes it if it has the expected version. */
export function resourceWrites(
  resourceId: string,
  now: number,
  change: {
    set?: { workingMemory: string | null; metadata?: Record<string, unknown> | null };
    merge?: Record<string, unknown>;
    createdAt?: Date;
    expectedVersion?: number | undefined;
  },
): Write[] {
  const id = checkId("resourceId", resourceId);
  const { set, merge, expectedVersion } = change;
  const memory = set?.workingMemory;
  const metadata = set?.metadata;
  const createdAt = change.createdAt ? toMillis("createdAt", change.createdAt) : now;
  return [
    insert(RESOURCES, { id, version: 0, created_at: createdAt, updated_at: now }, "ignore"),
    update(RESOURCES, {
      where: { id, ...(expectedVersion !== undefined && { version: expectedVersion }) },
      set: {
        updated_at: now,
        ...(memory !== undefined && { working_memory: memory === null ? null : cleanText(memory) }),
        ...(metadata !== undefined && { metadata: metadata && checkMetadata("metadata", metadata) }),
      },
      increment: { version: 1 },
      require: true,
      ...(merge && { merge: { metadata: checkMetadata("metadata", merge) as Row } }),
    }),
  ];
}
