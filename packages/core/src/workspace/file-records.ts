import type { ToolExecutionOptions } from "../tool/tool.ts";
import type { WorkspaceChange } from "./workspace-change.ts";
import { type FileKey, WORKSPACE_DOMAIN, type WorkspaceStore } from "./workspace-domain.ts";

type Call = Pick<ToolExecutionOptions, "threadId" | "threadState" | "saveProgress" | "toolCallId">;

/**
 * What a thread knows of files and what it changes. It is stored with the thread, so it holds in later runs and in other
 * processes. Without a thread, only what was read is kept, as long as this object.
 */
export class FileRecords {
  readonly #local = new Map<string, string>();

  /** The SHA-256 that a file had when it was last read or changed here, or `undefined`. */
  async get(call: Call, key: FileKey): Promise<string | undefined> {
    const stored = await storeOf(call);
    return stored ? stored.store.knownHash(stored.threadId, key) : this.#local.get(key.file);
  }

  async set(call: Call, key: FileKey, hash: string): Promise<void> {
    const stored = await storeOf(call);
    if (!stored) return void this.#local.set(key.file, hash);
    const { store, threadId } = stored;
    if ((await store.knownHash(threadId, key)) !== hash)
      await store.commit(threadId, [store.know(threadId, key, hash)]);
  }

  /** Stores a change that is about to be made, in one commit with the progress of its call. */
  async begin(
    call: Call,
    key: FileKey,
    change: WorkspaceChange,
    before: Uint8Array | undefined,
    progress: unknown,
  ): Promise<void> {
    const stored = await storeOf(call);
    if (stored)
      await call.saveProgress(progress, await stored.store.record(stored.threadId, key, change, before));
    else if (change.after === null) this.#local.delete(key.file);
    else this.#local.set(key.file, change.after);
  }

  /** The change was not made: `known` is what the thread knew before. */
  async withdraw(call: Call, key: FileKey, known: string | undefined): Promise<void> {
    const stored = await storeOf(call);
    if (stored) {
      const { store, threadId } = stored;
      // With the progress, so that only the process that has the thread does it.
      await call.saveProgress(null, store.withdraw(threadId, key, call.toolCallId, known));
    } else if (known === undefined) this.#local.delete(key.file);
    else this.#local.set(key.file, known);
  }

  /** The change of a call that was interrupted. */
  async changeOf(call: Call, key: FileKey): Promise<WorkspaceChange | undefined> {
    const stored = await storeOf(call);
    if (!stored) return undefined;
    const { store, threadId } = stored;
    const [found] = await store.changes(key.root, { threadId, toolCallId: call.toolCallId });
    if (!found) return undefined;
    const { threadId: _, createdAt: __, undoneAt: ___, ...change } = found;
    return change;
  }
}

async function storeOf({
  threadId,
  threadState,
}: Call): Promise<{ store: WorkspaceStore; threadId: string } | undefined> {
  if (!threadState || threadId === undefined) return undefined;
  return { store: await threadState.domain(WORKSPACE_DOMAIN), threadId };
}
