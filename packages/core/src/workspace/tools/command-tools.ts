import { AgentError } from "../../errors.ts";
import { sleep } from "../../system.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import { describeIsolation, LocalSandbox } from "../sandbox/local-sandbox.ts";
import { PROCESS_DOMAIN, type ProcessRow, type ProcessStore } from "../sandbox/process-domain.ts";
import { RunningCommand } from "../sandbox/running-command.ts";
import { showOutput } from "../sandbox/show-output.ts";
import type {
  CommandAccess,
  OutputStream,
  ProcessHandle,
  SpawnOptions,
  WorkspaceSandbox,
} from "../sandbox/workspace-sandbox.ts";
import { SandboxFeatureNotSupportedError } from "../workspace-errors.ts";
import { fields, type ToolFrame, type WorkspaceTool } from "./tool-frame.ts";

const OUTPUT_TOKENS = 4000;
/** A command without `timeout` that takes longer becomes a background process. */
const FOREGROUND_MS = 120_000;
const BACKGROUND_MS = 3_600_000;
/** What ending a process takes at most, so that the call ends in time. */
const KILL_MS = 6000;
const LAST_LINES = 50;

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

interface ExecuteInput {
  command: string;
  timeout?: number;
  cwd?: string;
  tail?: number;
  background?: boolean;
  access?: CommandAccess;
  reason?: string;
}

const TAIL = {
  type: "integer",
  minimum: 0,
  description: "Show only so many of the last lines; 0 shows all. The command itself is not changed.",
} as const;
const PID = { type: "string", description: "The process number that execute_command returned." } as const;

export const executeCommandTool: WorkspaceTool<ExecuteInput> = {
  name: "execute_command",
  description:
    "Run a shell command in the workspace. A command that runs longer than 120 seconds without a timeout continues in the background; read it with get_process_output.",
  category: "execute",
  needs: "sandbox",
  readOnly: true,
  // A call that started before a crash is not run again: its process row tells what became of it.
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { command: { type: "string", minLength: 1, description: "Run by /bin/sh -c, exactly as it is." } },
    {
      timeout: { type: "number", exclusiveMinimum: 0, description: "Seconds after which it is killed." },
      cwd: { type: "string", description: "Directory, relative to the working directory." },
      tail: TAIL,
      background: { type: "boolean", description: "Return at once, for servers and watchers." },
      access: {
        type: "string",
        enum: ["sandbox", "network", "host"],
        description: "Ask a person for the network, or to leave the sandbox. Give a reason.",
      },
      reason: { type: "string", description: "Why it needs more access." },
    },
  ),
  async asks({ access = "sandbox", reason }, _rules, sandbox) {
    const info = await sandbox!.getInfo();
    const bounds = describeIsolation(info.isolation, info.network ?? false, access);
    if (access !== "sandbox") {
      const why = `Asks for ${access === "network" ? "network access" : "the whole machine"}: ${reason ?? "no reason given"}.`;
      return { decision: "ask", always: true, reason: `${why} ${bounds}` };
    }
    return { decision: info.isolation === "none" ? "ask" : "allow", reason: bounds };
  },
  async run(frame, input, options) {
    const { access = "sandbox", reason } = input;
    if (access !== "sandbox" && !reason?.trim())
      throw new AgentError("invalid-argument", `access: "${access}" needs a reason. Say why in \`reason\`.`);
    const store = await storeOf(options);
    const key = { thread_id: options.threadId ?? "", id: options.idempotencyKey };
    const earlier = await store?.find(key);
    if (earlier) return afterCrash(frame, input, store!, earlier);
    return runCommand(frame, input, options, store);
  },
};

async function runCommand(
  frame: ToolFrame,
  input: ExecuteInput,
  options: ToolExecutionOptions,
  store: ProcessStore | undefined,
): Promise<string> {
  const { command, cwd, access, background = false, tail } = input;
  const { threadId = "", toolCallId, idempotencyKey, writer, abortSignal } = options;
  const { system, processes } = frame;
  if (background) await processes.requireRoom(threadId, store);
  const running: RunningCommand = new RunningCommand({
    threadId,
    toolCallId,
    idempotencyKey,
    command,
    store,
    writer,
    system,
    background: frame.background,
  });
  await announce(frame, options);
  await start(frame.sandbox!, command, running, background, {
    ...(cwd !== undefined && { cwd }),
    ...(access && { access }),
    abortSignal,
  });
  const free = running.endWith(abortSignal);
  const ended = running.finish();
  ended.catch(() => {});
  const longest = longestWait(options);
  const { timeout } = input;
  const foreground = timeout === undefined ? FOREGROUND_MS : timeout * 1000;
  const waited = background ? "background" : await within(Math.min(foreground, longest), ended, frame);
  if (waited === "ended") {
    free();
    const result = await ended;
    return showResult(frame, running, toolCallId, tail, result);
  }
  if (waited === "late" && timeout !== undefined) {
    await running.handle.kill();
    free();
    const text = showResult(frame, running, toolCallId, tail, await ended);
    return `${text}\nThe command did not end within ${Math.min(foreground, longest) / 1000} s and was killed.`;
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
  const shown = showOutput(running.output(), { tail, maxTokens: frame.maxOutputTokens });
  return `${shown}\nThe command is still running after ${foreground / 1000} s. It continues in the background as process ${pid}: use get_process_output or kill_process.`;
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

async function within(ms: number, ended: Promise<unknown>, { system }: ToolFrame): Promise<"ended" | "late"> {
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
function longestWait({ timeoutMs = 0 }: ToolExecutionOptions): number {
  return timeoutMs > 0 ? Math.max(timeoutMs - KILL_MS, timeoutMs / 2) : Infinity;
}

/** What is said about a call that runs again because its process died. */
async function afterCrash(
  frame: ToolFrame,
  { tail }: ExecuteInput,
  store: ProcessStore,
  earlier: ProcessRow,
): Promise<string> {
  const row = earlier.state === "running" && store.isHere(earlier) ? await store.lose(earlier) : earlier;
  const output = await store.output(row.thread_id, { id: row.id });
  const limits = { tail, maxTokens: frame.maxOutputTokens, path: outputPath(row.tool_call_id) };
  const text = showOutput(output, limits);
  if (row.state === "exited") return [text, ending(row.exit_code!, row.ending)].filter(Boolean).join("\n");
  if (row.background)
    return `Started in the background as process ${row.pid}, which was lost when its host restarted.\n${text}`;
  const fate = !store.isHere(row)
    ? "It ran on another machine, so it is unknown whether it still runs."
    : row.was_alive
      ? "It was still running and has been killed."
      : "It is no longer running.";
  throw new AgentError(
    "tool-outcome-unknown",
    `The process that ran this command ended before the command did, so its outcome is unknown. It was not run again. ${fate} Find out what it did before you run it again.\nCommand: ${row.command}\nOutput until then:\n${text || "(none)"}`,
  );
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

export const getProcessOutputTool: WorkspaceTool<{ pid: string; tail?: number; wait?: boolean }> = {
  name: "get_process_output",
  description: "Show the output and status of a background process.",
  category: "read",
  needs: "sandbox",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { pid: PID },
    { tail: TAIL, wait: { type: "boolean", description: "Wait until it ends." } },
  ),
  async run(frame, { pid, tail, wait = false }, options) {
    const found = await findProcess(frame, pid, options);
    if (!(found instanceof RunningCommand)) return describeRow(frame, found.row, found.output, tail);
    if (wait && !found.result) {
      const free = onceAborted(options.abortSignal);
      await Promise.race([
        found.handle.wait(),
        free.aborted,
        within(Math.min(FOREGROUND_MS, longestWait(options)), free.aborted, frame),
      ]);
      free.stop();
    }
    const status = found.result ? ended(pid, found.result.exitCode) : `Process ${pid} is running.`;
    const text = showOutput(found.output(), { tail, maxTokens: frame.maxOutputTokens });
    return [status, text].filter(Boolean).join("\n");
  },
};

export const killProcessTool: WorkspaceTool<{ pid: string }> = {
  name: "kill_process",
  description: "End a background process and everything it started.",
  category: "execute",
  needs: "sandbox",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields({ pid: PID }),
  async run(frame, { pid }, options) {
    const found = await findProcess(frame, pid, options);
    if (!(found instanceof RunningCommand)) {
      const { row, store } = found;
      const isOurs = row.state === "running" && store.isHere(row);
      return describeRow(frame, isOurs ? await store.lose(row) : row, found.output, LAST_LINES);
    }
    const killed = await found.handle.kill();
    const said = killed ? `Process ${pid} was killed.` : ended(pid, found.handle.exitCode ?? 0);
    const text = showOutput(found.output(), { tail: LAST_LINES, maxTokens: frame.maxOutputTokens });
    return [said, text].filter(Boolean).join("\n");
  },
};

/** A process of the call's thread: in this process, or in the store. */
async function findProcess(
  frame: ToolFrame,
  pid: string,
  options: ToolExecutionOptions,
): Promise<RunningCommand | { row: ProcessRow; output: string; store: ProcessStore }> {
  const { threadId = "" } = options;
  const running = frame.processes.get(threadId, pid);
  if (running) return running;
  const store = await storeOf(options);
  const row = await store?.findByPid(threadId, pid);
  if (!store || !row) throw new AgentError("not-found", `This thread has no process ${JSON.stringify(pid)}.`);
  const isLost = row.state === "running" && !store.hasOwner(row);
  const output = await store.output(threadId, { id: row.id });
  return { row: isLost ? await store.lose(row) : row, output, store };
}

function describeRow(frame: ToolFrame, row: ProcessRow, output: string, tail: number | undefined): string {
  const { pid, state, was_alive, exit_code } = row;
  const status =
    state === "lost"
      ? `Process ${pid} is lost: the process that started it ended${was_alive ? ", so it was killed" : ""}. This is the output that was stored.`
      : state === "exited"
        ? ended(pid, exit_code ?? 0)
        : `Process ${pid} is running under another process (${row.host.split(" ")[0]}).`;
  const text = showOutput(output, {
    tail,
    maxTokens: frame.maxOutputTokens,
    path: outputPath(row.tool_call_id),
  });
  return [status, text].filter(Boolean).join("\n");
}

function ended(pid: string, exitCode: number): string {
  return `Process ${pid} exited with code ${exitCode}.`;
}

function showResult(
  frame: ToolFrame,
  running: RunningCommand,
  toolCallId: string,
  tail: number | undefined,
  { exitCode, killed }: { exitCode: number; killed?: boolean },
): string {
  const text = showOutput(running.output(), {
    tail,
    maxTokens: frame.maxOutputTokens,
    ...(running.isStored && { path: outputPath(toolCallId) }),
  });
  return [text, ending(exitCode, killed ? "killed" : null)].filter(Boolean).join("\n") || "(no output)";
}

function ending(exitCode: number, how: string | null): string {
  if (exitCode === 0 && !how) return "";
  return `Exit code: ${exitCode}${how ? ` (${how})` : ""}`;
}

/** Where `read_file` finds the whole output of a call. */
export const OUTPUT_FOLDER = ".selvedge/output/";

function outputPath(toolCallId: string): string {
  return OUTPUT_FOLDER + toolCallId;
}

/** The output of a call of this thread, if the path names one. */
export async function readStoredOutput(
  path: string,
  options: ToolExecutionOptions,
): Promise<Buffer | undefined> {
  if (!path.startsWith(OUTPUT_FOLDER) || options.threadId === undefined) return undefined;
  const store = await storeOf(options);
  const text = await store?.output(options.threadId, { tool_call_id: path.slice(OUTPUT_FOLDER.length) });
  return text ? Buffer.from(text) : undefined;
}

/** Processes in the thread's store; what dead processes left running is killed first. */
async function storeOf({ threadState, threadId }: ToolExecutionOptions): Promise<ProcessStore | undefined> {
  if (!threadState || threadId === undefined) return undefined;
  const store = await threadState.domain(PROCESS_DOMAIN);
  await store.killLeftovers();
  return store;
}

async function announce(
  { sandbox, workspace }: ToolFrame,
  { writer, toolCallId }: ToolExecutionOptions,
): Promise<void> {
  const { id, name, status } = workspace;
  const data = {
    toolName: executeCommandTool.name,
    toolCallId,
    id,
    name,
    status,
    sandbox: await sandbox!.getInfo(),
  };
  await writer.custom({ type: "data-workspace-metadata", data, transient: true });
}

function onceAborted(signal: AbortSignal): { aborted: Promise<void>; stop(): void } {
  const controller = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: controller.signal });
  });
  return { aborted, stop: () => controller.abort() };
}
