import { AgentError } from "../errors.ts";
import type { ToolExecutionOptions } from "../tool/tool.ts";
import type { ToolFrame } from "./tools/tool-frame.ts";
import { announceChange, hashOf, type WorkspaceChange } from "./workspace-change.ts";
import { FileChangedError } from "./workspace-errors.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

/** Larger files are compared by identity, size and time. */
const MAX_HASHED_BYTES = 10 * 1024 * 1024;

/** A path as it is now: nothing, or an entry with a mark that another entry does not have. */
export interface PathState {
  /** The SHA-256 of a file, the identity of anything else, or `null` if there is nothing. */
  mark: string | null;
  type?: "file" | "directory" | "symlink";
  /** The content of a file that is not too large. */
  content?: Buffer;
}

/** A change that has been worked out and not made. */
export interface PlannedChange {
  change: WorkspaceChange;
  /** The mark of the path afterwards; `"directory"` is any directory. */
  after: string | null;
  /** The result for the model. */
  text: string;
  act(): Promise<unknown>;
}

/** What the journal keeps of a change: enough to find out after a crash whether it was made. */
interface Intent {
  before: string | null;
  after: string | null;
  text: string;
}

/**
 * Makes a change to a path: records it with the call, acts, and announces it. If the process dies in between, the call
 * runs again, and the path decides: what was reached is not done again, what was not touched is, and a path that
 * something else changed is left alone.
 */
export async function makeChange(
  frame: ToolFrame,
  call: ToolExecutionOptions,
  path: string,
  {
    plan,
    check,
    follow = true,
  }: {
    plan(now: PathState): Promise<PlannedChange>;
    /** Refuses a change. Not called again for a change that was recorded. */
    check?(now: PathState): Promise<void>;
    /** Whether a link stands for its target. */
    follow?: boolean;
  },
): Promise<string> {
  await frame.requireUnprotected(path);
  return frame.locked(path, async () => {
    const key = await frame.key(path);
    const now = await stateOf(frame.files, path, { follow });
    const intent = (call.progress ?? undefined) as Intent | undefined;
    // Nothing depends on it, and the directory may be gone.
    if (intent) await frame.files.removeLeftovers?.(path).catch(() => {});
    if (intent && isReached(now, intent.after)) {
      const change = await frame.records.changeOf(call, key);
      if (change) await announceChange(call.writer, change);
      return intent.text;
    }
    // It may have been made before somebody else changed the path. Its record stays.
    if (intent && now.mark !== intent.before)
      throw new FileChangedError(path, { ...intent, found: now.mark });
    if (!intent) await check?.(now);
    const planned = await plan(now);
    const { change, after, text } = planned;
    const known = intent ? undefined : await frame.records.get(call, key);
    try {
      const progress: Intent = { before: now.mark, after, text };
      if (!intent) await frame.records.begin(call, key, change, now.content, progress);
      await planned.act();
    } catch (error) {
      // If that fails, too, the call is not this process's any more.
      await frame.records.withdraw(call, key, known).catch(() => {});
      throw error;
    }
    await announceChange(call.writer, change);
    return text;
  });
}

/** What is at a path. */
export async function stateOf(
  files: WorkspaceFilesystem,
  path: string,
  { follow = true }: { follow?: boolean } = {},
): Promise<PathState> {
  const found = await files.stat(path, { follow }).catch((error: unknown) => {
    if (AgentError.is(error, "not-found")) return undefined;
    throw error;
  });
  if (!found) return { mark: null };
  const { type, size, modifiedAt, createdAt, id = String(createdAt.getTime()) } = found;
  if (type !== "file") return { type, mark: `${type} ${id}` };
  if (size > MAX_HASHED_BYTES) return { type, mark: `file ${id} ${size} ${modifiedAt.getTime()}` };
  const content = (await files.readFile(path)) as Buffer;
  return { type, mark: hashOf(content), content };
}

function isReached({ mark, type }: PathState, after: string | null): boolean {
  return after === "directory" ? type === "directory" : mark === after;
}
