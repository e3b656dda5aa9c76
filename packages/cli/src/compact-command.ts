import { existsSync, statSync } from "node:fs";
import { AgentError } from "@selvedge/core/errors";
import { LibSQLStore } from "@selvedge/libsql";
import { toUrl } from "./storage-url.ts";

export interface CompactFlags {
  storage: string;
  olderThan: string;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `selvedge compact`: deletes old stream rows and ended runs from a store's file, and frees the disk space. Returns the exit code. */
export async function runCompactCommand({ storage, olderThan }: CompactFlags): Promise<number> {
  const retentionMs = parseAge(olderThan);
  if (!existsSync(storage)) {
    throw new AgentError("not-found", `There is no file ${storage}. Name your store's file with --storage.`);
  }
  const before = statSync(storage).size;
  const store = new LibSQLStore({ url: toUrl(storage) });
  try {
    const pruned = await store.prune({ retentionMs });
    console.log(
      `Deleted ${pruned.events} stream rows, ${pruned.runs} runs, ${pruned.idempotencyKeys} idempotency keys and ${pruned.notifications} notifications.`,
    );
    await store.vacuum();
  } finally {
    await store.close();
  }
  console.log(`${storage}: ${megabytes(before)} before, ${megabytes(statSync(storage).size)} now.`);
  return 0;
}

function parseAge(text: string): number {
  const match = /^(\d+(?:\.\d+)?)([mhd])$/.exec(text);
  if (match) return Number(match[1]) * UNITS[match[2]!]!;
  throw new AgentError(
    "invalid-argument",
    `--older-than must be a number with m, h or d, such as 90m or 7d, got ${JSON.stringify(text)}.`,
  );
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
