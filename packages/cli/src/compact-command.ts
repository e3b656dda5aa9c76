import { existsSync, statSync } from "node:fs";
import { LibSQLStore } from "@selvedge/libsql";

export interface CompactFlags {
  storage: string;
  olderThan: string;
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Deletes what is over and old from a store's file and gives the space back. Returns the exit code. */
export async function runCompactCommand({ storage, olderThan }: CompactFlags): Promise<number> {
  const retentionMs = parseAge(olderThan);
  if (retentionMs === undefined) {
    console.error(`--older-than must be a number with m, h or d, such as 90m or 7d; got "${olderThan}".`);
    return 1;
  }
  if (!existsSync(storage)) {
    console.error(`There is no file ${storage}. Name the file of your store with --storage.`);
    return 1;
  }
  const before = statSync(storage).size;
  const store = new LibSQLStore({ url: `file:${storage}` });
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

function parseAge(text: string): number | undefined {
  const match = /^(\d+(?:\.\d+)?)([mhd])$/.exec(text);
  return match ? Number(match[1]) * UNITS[match[2]!]! : undefined;
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
