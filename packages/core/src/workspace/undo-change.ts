import { AgentError } from "../errors.ts";
import { stateOf } from "./make-change.ts";
import type { StoredChange, WorkspaceStore } from "./workspace-domain.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** Puts back what was there before a change, if nobody has changed it since. */
export async function undoChange(
  files: WorkspaceFilesystem,
  store: WorkspaceStore,
  change: StoredChange,
): Promise<StoredChange> {
  const { path, operation, before, after, threadId } = change;
  const refuse = (why: string): AgentError =>
    new AgentError("conflict", `${path} cannot be put back: ${why}`, { details: { path } });
  if (change.undoneAt) throw refuse("the change has been undone already.");
  const now = await stateOf(files, path);
  if (operation === "mkdir") {
    if (now.type === "directory") await files.rmdir(path);
    else if (now.mark !== null) throw refuse("there is a file in the place of the directory.");
  } else if (operation === "delete" && before === null) {
    throw refuse("its content was not kept. Only files of at most 1 MiB are.");
  } else if (now.mark !== before) {
    // It is back already if the process died while it was undone.
    if (now.mark !== after) throw refuse("it has changed since.");
    if (before === null) await files.deleteFile(path, { expectedHash: after! });
    else {
      const content = await store.image(threadId, before);
      if (!content)
        throw refuse("its content was not kept. A thread keeps files of at most 1 MiB, 64 MiB in all.");
      await files.writeFile(path, content, { expectedHash: after });
    }
  }
  return { ...change, undoneAt: await store.markUndone(change) };
}
