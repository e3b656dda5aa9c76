import { AgentError } from "@selvedge/core";
import type { MemoryDomain, Storage } from "@selvedge/core/storage";

/** The threads and messages of a store, for routes that need one. */
export async function memoryDomain(storage: Storage | undefined): Promise<MemoryDomain> {
  return (await requireStorage(storage).getStore("memory"))!;
}

export function requireStorage(storage: Storage | undefined): Storage {
  if (storage) return storage;
  throw new AgentError("storage-required", "This app has no storage for threads.");
}
