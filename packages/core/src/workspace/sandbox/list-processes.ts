import { AgentError } from "../../errors.ts";
import type { Storage } from "../../storage/storage.ts";
import type { BackgroundProcesses } from "./background-processes.ts";
import { PROCESS_DOMAIN, type ProcessRow } from "./process-domain.ts";
import type { WorkspaceSandbox } from "./workspace-sandbox.ts";

/** A background process of a thread. */
export interface WorkspaceProcess {
  pid: string;
  threadId: string;
  toolCallId: string;
  command: string;
  /** `lost`: its owner died before it ended. */
  state: "running" | "exited" | "lost";
  exitCode?: number;
  startedAt: Date;
  /** Whether this process can end it. */
  canKill: boolean;
}

/**
 * What the processes of a workspace have in common, the same in every process: its id, and where they run if that does
 * not depend on the request.
 */
export async function processPlace(id: string, sandbox: WorkspaceSandbox | undefined): Promise<string> {
  const { workingDirectory } = sandbox ? await sandbox.getInfo() : {};
  return workingDirectory === undefined ? id || (sandbox?.id ?? "") : `${id}:${workingDirectory}`;
}

/** The background processes of a workspace, newest first: at most 100. */
export async function listProcesses(
  storage: Storage,
  running: BackgroundProcesses,
  { place, threadId }: { place: string; threadId: string | undefined },
): Promise<WorkspaceProcess[]> {
  const store = await storage.domain(PROCESS_DOMAIN);
  await store.killLeftovers();
  return (await store.listBackground(place, threadId)).map((row) => toProcess(row, running));
}

/** Ends a background process. Rejects with `not-supported` if another process of this or another machine started it. */
export async function killListed(
  storage: Storage,
  running: BackgroundProcesses,
  { place, threadId, pid }: { place: string; threadId: string; pid: string },
): Promise<WorkspaceProcess> {
  const store = await storage.domain(PROCESS_DOMAIN);
  await store.killLeftovers();
  const find = () => store.findLast(threadId, { pid });
  const row = await find();
  if (!row || row.background === 0 || row.workspace !== place)
    throw new AgentError("not-found", `Thread "${threadId}" has no background process "${pid}".`);
  const command = running.get(threadId, pid);
  if (row.state === "running" && !command)
    throw new AgentError(
      "not-supported",
      `Process ${pid} was started by another process (${row.host.split(" ")[0]}). Ask the agent to end it with kill_process there.`,
    );
  if (command) {
    await command.handle.kill();
    await command.ended;
  }
  return toProcess((await find()) ?? row, running);
}

function toProcess(row: ProcessRow, running: BackgroundProcesses): WorkspaceProcess {
  const { pid, thread_id: threadId, tool_call_id: toolCallId, command, state, exit_code, started_at } = row;
  return {
    pid,
    threadId,
    toolCallId,
    command,
    state,
    ...(exit_code !== null && exit_code !== undefined && { exitCode: exit_code }),
    startedAt: new Date(started_at),
    canKill: state === "running" && running.get(threadId, pid) !== undefined,
  };
}
