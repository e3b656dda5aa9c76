import { AgentError } from "@selvedge/core";
import type { ThreadDomain, Storage } from "@selvedge/core/storage";

/** A store's threads and messages, for routes that need one. */
export async function threadDomain(storage: Storage | undefined): Promise<ThreadDomain> {
  return (await requireStorage(storage).getStore("memory"))!;
}

export function requireStorage(storage: Storage | undefined): Storage {
  if (storage) return storage;
  throw new AgentError("storage-required", "This app has no storage for threads.");
}
