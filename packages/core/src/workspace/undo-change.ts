import { AgentError } from "../errors.ts";
import { stateOf } from "./make-change.ts";
import type { StoredChange, WorkspaceStore } from "./workspace-domain.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** Restores the state before a change. Refuses if the path has changed since. */
export async function undoChange(
  files: WorkspaceFilesystem,
  store: WorkspaceStore,
  change: StoredChange,
): Promise<StoredChange> {
  const { path, operation, before, after, threadId } = change;
  const refuse = (why: string): AgentError =>
    new AgentError("conflict", `${path} cannot be restored: ${why}`, { details: { path } });
  if (change.undoneAt) throw refuse("the change was already undone.");
  const now = await stateOf(files, path);
  if (operation === "mkdir") {
    if (now.type === "directory") await files.rmdir(path);
    else if (now.mark !== null) throw refuse("a file now has the name of the directory.");
  } else if (operation === "delete" && before === null) {
    throw refuse("its old content was not kept. Only files up to 1 MiB are kept.");
  } else if (now.mark !== before) {
    // Already restored if the process died during an earlier undo.
    if (now.mark !== after) throw refuse("it has changed since.");
    if (before === null) await files.deleteFile(path, { expectedHash: after! });
    else {
      const content = await store.image(threadId, before);
      if (!content)
        throw refuse("its old content was not kept. A thread keeps files up to 1 MiB each, 64 MiB in total.");
      await files.writeFile(path, content, { expectedHash: after });
    }
  }
  return { ...change, undoneAt: await store.markUndone(change) };
}
