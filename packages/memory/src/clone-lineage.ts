import type { ThreadDomain } from "@selvedge/core/storage";
import type { StoredThread } from "@selvedge/protocol";

/** What a copied thread knows of its source. */
export interface ThreadCloneMetadata {
  sourceThreadId: string;
  clonedAt: Date;
}

export function cloneMetadata(thread: StoredThread | null): ThreadCloneMetadata | null {
  const clone = thread?.metadata?.["clone"] as { sourceThreadId?: unknown; clonedAt?: unknown } | undefined;
  if (typeof clone?.sourceThreadId !== "string") return null;
  return { sourceThreadId: clone.sourceThreadId, clonedAt: new Date(String(clone.clonedAt)) };
}

/** The threads from the first original to this one. A deleted source ends the chain. */
export async function cloneHistory(store: ThreadDomain, threadId: string): Promise<StoredThread[]> {
  const chain: StoredThread[] = [];
  for (let id: string | undefined = threadId; id !== undefined;) {
    const thread = await store.getThreadById({ threadId: id });
    if (!thread || chain.some((one) => one.id === thread.id)) break;
    chain.unshift(thread);
    id = cloneMetadata(thread)?.sourceThreadId;
  }
  return chain;
}

/** The copies of a thread, newest first. They belong to its resource unless another is named. */
export async function listClones(
  store: ThreadDomain,
  sourceThreadId: string,
  resourceId?: string,
): Promise<StoredThread[]> {
  const owner = resourceId ?? (await store.getThreadById({ threadId: sourceThreadId }))?.resourceId;
  if (owner === undefined) return [];
  const { threads } = await store.listThreads({ filter: { resourceId: owner }, perPage: false });
  return threads.filter((thread) => cloneMetadata(thread)?.sourceThreadId === sourceThreadId);
}
