import { sleep } from "../../system.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import { LocalSandbox } from "../sandbox/local-sandbox.ts";
import type { ProcessStore } from "../sandbox/process-domain.ts";
import { RunningCommand } from "../sandbox/running-command.ts";
import type {
  CommandAccess,
  OutputStream,
  ProcessHandle,
  SpawnOptions,
  WorkspaceSandbox,
} from "../sandbox/workspace-sandbox.ts";
import { SandboxFeatureNotSupportedError } from "../workspace-errors.ts";
import type { ToolFrame } from "./tool-frame.ts";

/** A command without `timeout` that takes longer becomes a background process. */
export const FOREGROUND_MS = 120_000;
const BACKGROUND_MS = 3_600_000;
/** What ending a process takes at most, so that the call ends in time. */
const KILL_MS = 6000;

/** Callbacks and rules for processes that outlive their call. */
export interface BackgroundProcessOptions {
  onStdout?(text: string, process: { pid: string }): void;
  onStderr?(text: string, process: { pid: string }): void;
  onExit?(exit: { pid: string; exitCode: number; success: boolean }): void;
  /** Kills them when it aborts. */
  abortSignal?: AbortSignal;
  /** Send the thread a notification when one ends. */
  notifyOnExit?: boolean;
  /** Default: one hour. */
  maxProcessMs?: number;
}

export interface ExecuteInput {
  command: string;
  timeout?: number;
  cwd?: string;
  tail?: number;
  background?: boolean;
  access?: CommandAccess;
  reason?: string;
}

/** Runs a command that has not run before. */
export async function runCommand(
  frame: ToolFrame,
  input: ExecuteInput,
  options: ToolExecutionOptions,
  store: ProcessStore | undefined,
): Promise<string> {
  const { command, cwd, access, background = false, tail } = input;
  const { toolCallId, writer, saveProgress, abortSignal } = options;
  const threadId = ownerOf(options);
  const { system, processes } = frame;
  if (background) await processes.requireRoom(threadId, store);
  const running: RunningCommand = new RunningCommand({
    threadId,
    toolCallId,
    command,
    workspace: await frame.processPlace(),
    store,
    writer,
    saveProgress,
    system,
    background: frame.background,
  });
  await announce(frame, options);
  const { timeout } = input;
  const limit = Math.min(timeout === undefined ? FOREGROUND_MS : timeout * 1000, longestWait(options));
  await start(frame.sandbox!, command, running, background, {
    ...(cwd !== undefined && { cwd }),
    ...(access && { access }),
    ...(timeout !== undefined && { timeout: limit }),
    ...(frame.allowedPaths && {
      granted: { paths: frame.allowedPaths, readOnly: frame.files?.readOnly ?? false },
    }),
    abortSignal,
  });
  const free = running.endWith(abortSignal);
  const ended = running.finish();
  ended.catch(() => {});
  const isLate = background || (timeout === undefined && (await within(limit, ended, frame)) === "late");
  if (!isLate) {
    const { exitCode, killed, timedOut, warning } = await ended.finally(free);
    const how = timedOut ? `killed after ${limit / 1000} s` : killed ? "killed" : null;
    const text = running.show({ tail, maxTokens: frame.maxOutputTokens });
    return [text, ending(exitCode, how), warning].filter(Boolean).join("\n") || "(no output)";
  }
  if (!background)
    await processes.requireRoom(threadId, store).catch(async (error: unknown) => {
      await running.handle.kill();
      throw error;
    });
  free();
  processes.add(running);
  await running.detach();
  watchBackground(frame, running, options, ended);
  const { pid } = running.handle;
  if (background)
    return `Started in the background as process ${pid}. Read its output with get_process_output.`;
  const shown = running.show({ tail, maxTokens: frame.maxOutputTokens });
  return `${shown}\nThe command is still running after ${limit / 1000} s. It continues in the background as process ${pid}: use get_process_output or kill_process.`;
}

/** Whose processes a call can reach: those of its thread or, without one, of its resource or its run. */
export function ownerOf({ threadId, resourceId, agent, runId }: ToolExecutionOptions): string {
  return threadId ?? resourceId ?? (agent && runId) ?? "";
}

/** Starts the process. Its row is stored before the command runs, if the sandbox can hold it that long. */
async function start(
  sandbox: WorkspaceSandbox,
  command: string,
  running: RunningCommand,
  background: boolean,
  options: SpawnOptions,
): Promise<void> {
  const { processes } = sandbox;
  if (!processes) throw new SandboxFeatureNotSupportedError(sandbox.name, "processes");
  let begun = false;
  const beforeRun = async (handle: ProcessHandle) => {
    begun = true;
    await running.begin(handle, background);
  };
  const text = (stream: OutputStream) => (piece: string) => running.take(stream, Buffer.from(piece));
  const handle = await processes.spawn(command, {
    ...options,
    stdin: false,
    beforeRun,
    ...(sandbox instanceof LocalSandbox
      ? { onOutput: running.take }
      : { onStdout: text("stdout"), onStderr: text("stderr") }),
  });
  if (!begun) await running.begin(handle, background);
}

export async function within(
  ms: number,
  ended: Promise<unknown>,
  { system }: ToolFrame,
): Promise<"ended" | "late"> {
  if (ms === Infinity) return ended.then(() => "ended");
  const controller = new AbortController();
  const late = sleep(system, ms, controller.signal).then(
    () => "late" as const,
    () => "ended" as const,
  );
  try {
    return await Promise.race([ended.then(() => "ended" as const), late]);
  } finally {
    controller.abort();
  }
}

/** How long a call can wait for a process and still end it in time. */
export function longestWait({ timeoutMs = 0 }: ToolExecutionOptions): number {
  return timeoutMs > 0 ? Math.max(timeoutMs - KILL_MS, timeoutMs / 2) : Infinity;
}

/** A background process belongs to the thread: it ends after an hour, with the configuration's signal, or by itself. */
function watchBackground(
  frame: ToolFrame,
  running: RunningCommand,
  options: ToolExecutionOptions,
  ended: Promise<{ exitCode: number; success: boolean }>,
): void {
  const { onExit, abortSignal, notifyOnExit, maxProcessMs = BACKGROUND_MS } = frame.background;
  const { handle } = running;
  const cancel = frame.system.setTimer(maxProcessMs, () => void handle.kill(), { background: true });
  const free = abortSignal && running.endWith(abortSignal);
  ended
    .then(async ({ exitCode, success }) => {
      cancel();
      free?.();
      onExit?.({ pid: handle.pid, exitCode, success });
      if (notifyOnExit) await notifyThread(options, handle, exitCode);
    })
    .catch(() => {});
}

/** The part of a host that can reach an agent. */
interface AgentHost {
  getAgentById(id: string): {
    sendNotificationSignal(input: object, target: object): Promise<unknown>;
  };
}

async function notifyThread(
  { mastra, agent, threadId, resourceId }: ToolExecutionOptions,
  { pid, command }: ProcessHandle,
  exitCode: number,
): Promise<void> {
  if (!mastra || !agent || threadId === undefined) return;
  await (mastra as AgentHost).getAgentById(agent.agentId).sendNotificationSignal(
    {
      source: "workspace",
      kind: "process-exit",
      summary: `Background process ${pid} exited with code ${exitCode}: ${command.slice(0, 200)}`,
      payload: { pid, command, exitCode },
      dedupeKey: pid,
    },
    { threadId, resourceId },
  );
}

export function ending(exitCode: number, how: string | null): string {
  if (exitCode === 0 && !how) return "";
  return `Exit code: ${exitCode}${how ? ` (${how})` : ""}`;
}

async function announce(
  { sandbox, workspace }: ToolFrame,
  { writer, toolCallId }: ToolExecutionOptions,
): Promise<void> {
  const { id, name, status } = workspace;
  const data = {
    toolName: "execute_command",
    toolCallId,
    id,
    name,
    status,
    sandbox: await sandbox!.getInfo(),
  };
  await writer.custom({ type: "data-workspace-metadata", data, transient: true });
}
