import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import type { System } from "@selvedge/core/storage";

const AT_MOST_EVERY_MS = 4;
const POLL_MS = 100;

/**
 * Calls back after another connection changed the database. The file system reports writes to the log beside the file,
 * and SQLite's data version tells whether it was another connection: waiting costs nothing.
 */
export function watchFile(
  path: string,
  dataVersion: () => number | undefined,
  system: System,
  onChange: () => void,
): () => void {
  let seen = dataVersion();
  let stopped = false;
  let cancelTimer: (() => void) | undefined;
  let watcher: FSWatcher | undefined;
  const look = (): void => {
    cancelTimer = undefined;
    if (stopped) return;
    const version = dataVersion();
    if (version !== undefined && version !== seen) {
      seen = version;
      onChange();
    }
    if (!watcher) soon(POLL_MS);
  };
  const soon = (ms: number): void => {
    cancelTimer ??= system.setTimer(ms, look, { background: true });
  };
  const log = `${basename(path)}-wal`;
  try {
    watcher = watch(dirname(path), { persistent: false }, (_, name) => {
      if (name === null || name === log) soon(AT_MOST_EVERY_MS);
    });
    watcher.on("error", () => {
      // Too many watchers, or the folder was removed: poll instead.
      watcher?.close();
      watcher = undefined;
      soon(POLL_MS);
    });
  } catch {
    soon(POLL_MS);
  }
  return () => {
    stopped = true;
    cancelTimer?.();
    watcher?.close();
  };
}
