import { AgentError } from "../../errors.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import { describeIsolation } from "../sandbox/local-sandbox.ts";
import { PROCESS_DOMAIN, type ProcessRow, type ProcessStore } from "../sandbox/process-domain.ts";
import { RunningCommand } from "../sandbox/running-command.ts";
import { OUTPUT_FOLDER, showOutput } from "../sandbox/show-output.ts";
import {
  ending,
  type ExecuteInput,
  FOREGROUND_MS,
  longestWait,
  ownerOf,
  runCommand,
  within,
} from "./run-command.ts";
import { fields, type ToolFrame, type WorkspaceTool } from "./tool-frame.ts";

const OUTPUT_TOKENS = 4000;
const LAST_LINES = 50;

const TAIL = {
  type: "integer",
  minimum: 0,
  description: "Show only this many of the last lines; 0 shows all. Does not affect the command.",
} as const;
const PID = { type: "string", description: "The process id that execute_command returned." } as const;

export const executeCommandTool: WorkspaceTool<ExecuteInput> = {
  name: "execute_command",
  description:
    "Run a shell command in the workspace. A command that runs longer than 120 seconds without a timeout continues in the background: read its output with get_process_output.",
  category: "execute",
  needs: "sandbox",
  readOnly: true,
  // A call that started before a crash is not run again: its process row shows what happened to it.
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { command: { type: "string", minLength: 1, description: "Run with /bin/sh -c, exactly as written." } },
    {
      timeout: {
        type: "number",
        exclusiveMinimum: 0,
        description: "The command is killed after this many seconds.",
      },
      cwd: { type: "string", description: "Directory, relative to the working directory." },
      tail: TAIL,
      background: { type: "boolean", description: "Return at once, for servers and watchers." },
      access: {
        type: "string",
        enum: ["sandbox", "network", "host"],
        description: "Ask the user for network access, or to run outside the sandbox. Give a reason.",
      },
      reason: { type: "string", description: "Why the command needs more access." },
    },
  ),
  async asks({ access = "sandbox", reason }, _rules, sandbox, granted) {
    const info = await sandbox!.getInfo();
    const bounds = describeIsolation(info.isolation, info.network ?? false, access, granted);
    if (access !== "sandbox") {
      const why = `Asks for ${access === "network" ? "network access" : "the whole machine"}: ${reason ?? "no reason given"}.`;
      return { decision: "ask", always: true, reason: `${why} ${bounds}`, bounds };
    }
    return { decision: info.isolation === "none" ? "ask" : "allow", reason: bounds, bounds };
  },
  async run(frame, input, options) {
    const { access = "sandbox", reason } = input;
    if (access !== "sandbox" && !reason?.trim())
      throw new AgentError("invalid-argument", `access: "${access}" needs a reason. Say why in \`reason\`.`);
    const store = await storeOf(options);
    const id = (options.progress as { process: string } | undefined)?.process;
    const earlier = id === undefined ? undefined : await store?.find({ thread_id: options.threadId!, id });
    if (earlier) return afterCrash(frame, input, store!, earlier);
    return runCommand(frame, input, options, store);
  },
};

/** The result of a call that runs again because its process died. */
async function afterCrash(
  frame: ToolFrame,
  { tail }: ExecuteInput,
  store: ProcessStore,
  earlier: ProcessRow,
): Promise<string> {
  const row = earlier.state === "running" && store.isHere(earlier) ? await store.lose(earlier) : earlier;
  const output = await store.output(row);
  const limits = { tail, maxTokens: frame.maxOutputTokens, path: outputPath(row.tool_call_id) };
  const text = showOutput(output, limits);
  if (row.state === "exited") return [text, ending(row.exit_code!, row.ending)].filter(Boolean).join("\n");
  if (row.background)
    return `Started in the background as process ${row.pid}, which was lost when its host restarted.\n${text}`;
  const fate = !store.isHere(row)
    ? "It ran on another machine, so it is unknown whether it is still running."
    : row.was_alive
      ? "It was still running and has been killed."
      : "It is no longer running.";
  throw new AgentError(
    "tool-outcome-unknown",
    `The process that ran this command ended before the command did, so its outcome is unknown. It was not run again. ${fate} Find out what it did before you run it again.\nCommand: ${row.command}\nOutput before that:\n${text || "(none)"}`,
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
    const text = found.show({ tail, maxTokens: frame.maxOutputTokens });
    return [status, text, found.result?.warning].filter(Boolean).join("\n");
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
    const text = found.show({ tail: LAST_LINES, maxTokens: frame.maxOutputTokens });
    return [said, text].filter(Boolean).join("\n");
  },
};

/** A process of the call's thread: in this process, or in the store. */
async function findProcess(
  frame: ToolFrame,
  pid: string,
  options: ToolExecutionOptions,
): Promise<RunningCommand | { row: ProcessRow; output: string; store: ProcessStore }> {
  const threadId = ownerOf(options);
  const running = frame.processes.get(threadId, pid);
  if (running) return running;
  const store = await storeOf(options);
  const row = await store?.findLast(threadId, { pid });
  if (!store || !row) throw new AgentError("not-found", `This thread has no process ${JSON.stringify(pid)}.`);
  const isLost = row.state === "running" && !store.hasOwner(row);
  const output = await store.output(row);
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
  const row = await store?.findLast(options.threadId, { tool_call_id: path.slice(OUTPUT_FOLDER.length) });
  return row && Buffer.from(await store!.output(row));
}

/** Processes in the thread's store; what dead processes left running is killed first. */
async function storeOf({ threadState, threadId }: ToolExecutionOptions): Promise<ProcessStore | undefined> {
  if (!threadState || threadId === undefined) return undefined;
  const store = await threadState.domain(PROCESS_DOMAIN);
  await store.killLeftovers();
  return store;
}

function onceAborted(signal: AbortSignal): { aborted: Promise<void>; stop(): void } {
  const controller = new AbortController();
  const aborted = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true, signal: controller.signal });
  });
  return { aborted, stop: () => controller.abort() };
}
