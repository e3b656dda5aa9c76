import type { Storage } from "./storage.ts";

const LISTENERS = Symbol.for("selvedge.deletion-listeners");

/** Listeners in this process for deleted threads. Other processes notice that the store changed. */
export function deletionListeners(storage: Storage): Set<(threadId: string) => void> {
  return storage.attach(LISTENERS, () => new Set());
}
