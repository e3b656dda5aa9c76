import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import { AgentError } from "@selvedge/core/errors";
import Database from "libsql";

/**
 * Keeps two runs from making one index at once. The lock is that of an empty database file, so it ends with the process
 * that holds it, however that ends. The file stays: one that is removed could be locked twice.
 */
export async function takeIndexLock(path: string): Promise<() => void> {
  await mkdir(dirname(path), { recursive: true });
  const database = new Database(path, { timeout: 0 });
  try {
    database.exec("BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if ((error as { code?: string }).code !== "SQLITE_BUSY") throw error;
    throw new AgentError("conflict", "Another process is building this index. Wait until it has finished.");
  }
  return () => database.close();
}
