import { existsSync } from "node:fs";

/**
 * The file that scanning threads run, from source or as built. Undefined if this code was bundled into another file, or if
 * the process may not start threads.
 */
export function findWorkerFile(): URL | undefined {
  const permission = process.permission as typeof process.permission | undefined;
  if (permission && !permission.has("worker")) return undefined;
  const from = import.meta.url as string | undefined;
  if (!from?.startsWith("file:")) return undefined;
  const file = new URL(from.endsWith(".ts") ? "../scan/scan-worker.ts" : "../workers/scan-worker.js", from);
  return existsSync(file) ? file : undefined;
}
