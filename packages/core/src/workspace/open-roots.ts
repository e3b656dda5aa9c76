import { AgentError } from "../errors.ts";
import { rootIdentity } from "./file-identity.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** The roots of the filesystems that a workspace has open for different requests. None may contain another. */
export class OpenRoots {
  readonly #open = new Map<string, WeakRef<WorkspaceFilesystem>>();

  async add(files: WorkspaceFilesystem): Promise<void> {
    const root = await rootIdentity(files);
    if (!this.#open.has(root)) {
      for (const [other, ref] of this.#open) {
        const known = ref.deref();
        if (!known || known.status === "destroyed") this.#open.delete(other);
        else if (`${root}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${root}/`)) throw nested();
      }
    }
    this.#open.set(root, new WeakRef(files));
  }
}

/** Does not name the other root, which may belong to another tenant. */
function nested(): AgentError {
  return new AgentError(
    "forbidden",
    "The root of this filesystem contains the root of another one that is open, or lies inside it. Give each tenant a separate directory.",
  );
}
