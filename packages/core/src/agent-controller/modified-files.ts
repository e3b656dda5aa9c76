import type { MessagePart } from "@selvedge/protocol";
import { type ModifiedFiles, readFiles } from "@selvedge/protocol/session";
import type { StepAddition, StepRecord } from "../run/run-journal.ts";
import type { Storage } from "../storage/storage.ts";
import { putThreadState } from "../storage/thread-state-domain.ts";
import type { WorkspaceChange } from "../workspace/workspace-change.ts";
import type { System } from "../system.ts";
import { PATH_ARGUMENTS } from "./call-pattern.ts";
import { categoryOf } from "./categories.ts";
import type { AgentControllerConfig } from "./config.ts";
import { controllerChunk } from "./request-context.ts";

/** Where the files that a thread's tools changed are among its states. */
export const FILES_STATE = "files";

const MAX_FILES = 1000;
const NOTHING: StepAddition = { writes: [], chunks: [] };

/** Keeps the files that edit tools changed with the thread, and announces them, in the commit that stores the step. */
export function fileKeeper(
  { config, storage, system }: { config: AgentControllerConfig; storage: Storage; system: System },
  threadId: string,
): (step: StepRecord) => Promise<StepAddition> {
  let known: { files: ModifiedFiles; version: number } | undefined;
  return async ({ parts }) => {
    const changes = parts.flatMap(changeOf);
    // A tool of a workspace says itself what it changed, whatever its name is.
    const told = new Set(changes.map(({ toolCallId }) => toolCallId));
    const edits = [...changes, ...parts.flatMap((part) => editOf(config, part, told))];
    if (edits.length === 0) return NOTHING;
    known ??= await read(storage, threadId);
    const changed: ModifiedFiles = {};
    for (const { path, operation } of edits) {
      const { operations = [], firstModified = system.now() } = changed[path] ?? known.files[path] ?? {};
      if (!operations.includes(operation))
        changed[path] = { operations: [...operations, operation], firstModified };
    }
    if (Object.keys(changed).length === 0) return NOTHING;
    const files = Object.fromEntries(Object.entries({ ...known.files, ...changed }).slice(-MAX_FILES));
    known = { files, version: known.version + 1 };
    return {
      writes: [putThreadState(threadId, FILES_STATE, files, known.version, system.now())],
      chunks: [controllerChunk({ type: "files_modified", files: changed })],
    };
  };
}

function changeOf(part: MessagePart): Pick<WorkspaceChange, "path" | "operation" | "toolCallId">[] {
  return part.type === "data-workspace-change" ? [(part as { data: unknown }).data as WorkspaceChange] : [];
}

/** The file that a call changed. A call that failed changed none. */
function editOf(
  config: AgentControllerConfig,
  part: MessagePart,
  told: ReadonlySet<string>,
): { path: string; operation: string }[] {
  if (part.type !== "tool-invocation" || told.has(part.toolInvocation.toolCallId)) return [];
  const { state, toolName, args, isError } = part.toolInvocation as {
    state: string;
    toolName: string;
    args: unknown;
    isError?: boolean;
  };
  if (state !== "result" || isError === true || categoryOf(config, toolName) !== "edit") return [];
  const given = Object(args) as Record<string, unknown>;
  const path = PATH_ARGUMENTS.map((name) => given[name]).find((value) => typeof value === "string");
  return typeof path === "string" && path !== "" ? [{ path, operation: toolName }] : [];
}

async function read(storage: Storage, threadId: string): Promise<{ files: ModifiedFiles; version: number }> {
  const states = (await storage.getStore("threadState"))!;
  const state = await states.getState({ threadId, type: FILES_STATE });
  return { files: readFiles(state?.value), version: state?.version ?? 0 };
}
