import type { Storage } from "./storage.ts";

const LISTENERS = Symbol.for("selvedge.deletion-listeners");

/** Who wants to hear, in this process, that a thread was deleted. Other processes notice that the store changed. */
export function deletionListeners(storage: Storage): Set<(threadId: string) => void> {
  return storage.attach(LISTENERS, () => new Set());
}
