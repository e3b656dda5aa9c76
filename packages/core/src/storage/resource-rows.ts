import { checkId, checkMetadata, cleanText } from "./check-id.ts";
import { toMillis } from "./message-rows.ts";
import type { ColumnValue, Row, Write } from "./storage.ts";
import { RESOURCES } from "./tables.ts";

/** What is known about the user or thing that threads belong to. */
export interface StoredResource {
  id: string;
  workingMemory?: string;
  metadata?: Record<string, unknown>;
  /** 1 when first stored, one more with every change. */
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

export function toResource(row: Row): StoredResource {
  return {
    id: row.id as string,
    ...(row.working_memory !== null && { workingMemory: row.working_memory as string }),
    ...(row.metadata !== null && { metadata: row.metadata as Record<string, unknown> }),
    version: row.version as number,
    createdAt: new Date(row.created_at as number),
    updatedAt: new Date(row.updated_at as number),
  };
}

/** Creates the resource at version 0 unless it is there, then changes it if it has the version expected. */
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
    {
      op: "insert",
      table: RESOURCES,
      row: { id, version: 0, created_at: createdAt, updated_at: now },
      onConflict: "ignore",
    },
    {
      op: "update",
      table: RESOURCES,
      where: { id, ...(expectedVersion !== undefined && { version: expectedVersion }) },
      set: {
        updated_at: now,
        working_memory: typeof memory === "string" ? cleanText(memory) : memory,
        metadata: metadata ? (checkMetadata("metadata", metadata) as ColumnValue) : metadata,
      },
      ...(merge && { merge: { metadata: checkMetadata("metadata", merge) as Row } }),
      increment: { version: 1 },
      require: true,
    },
  ];
}
