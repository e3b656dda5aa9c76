import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import type { SignalRecord } from "@selvedge/protocol/session";
import { OptionChecks } from "./option-checks.ts";
import type { ProcessInputStepArgs, Processor } from "./processor.ts";

type Answer<Value> = Value | Promise<Value>;

/** How files are read: those of the process, of a workspace, or of another machine. */
export interface InstructionReader {
  pathExists?(path: string): Answer<boolean>;
  isDirectory?(path: string): Answer<boolean>;
  readFile(path: string): Answer<string | undefined>;
}

export interface AgentsMdReminderOptions extends Partial<InstructionReader> {
  /** Gives the instructions at a path. The tool's own result when absent. The older name of `readFile`. */
  read?: (path: string) => Answer<string | undefined>;
  /** Said before the instructions. */
  reminderText?: string;
  /** How much of a file is shown. 1,000 when absent. */
  maxTokens?: number;
  /** Files that the model knows already. */
  getIgnoredInstructionPaths?: (args: ProcessInputStepArgs) => Answer<readonly string[]>;
  /** Whether it does anything in this step. */
  isEnabled?: (args: ProcessInputStepArgs) => Answer<boolean>;
  /** The reader of this request, in place of the functions above. */
  getReader?: (args: ProcessInputStepArgs) => Answer<InstructionReader | undefined>;
}

const REMINDER = "dynamic-agents-md";
const FILE = "AGENTS.md";
const FUNCTIONS = [
  "pathExists",
  "isDirectory",
  "readFile",
  "getIgnoredInstructionPaths",
  "isEnabled",
  "getReader",
] as const;
const PATH = /^(?![a-z][a-z0-9+.-]+:\/\/)[^\n\0]{1,1000}$/i;

/**
 * When a tool call has read an `AGENTS.md`, its instructions join the context as a `<system-reminder>`, once per path.
 * With `pathExists`, the `AGENTS.md` nearest to any path in a call counts. The file's author controls this text: use it
 * only with files you trust.
 */
export class AgentsMdReminder implements Processor {
  readonly id = "agents-md-reminder";
  readonly #options: AgentsMdReminderOptions;
  readonly #reader: InstructionReader | undefined;
  readonly #maxTokens: number;

  constructor(options: AgentsMdReminderOptions = {}) {
    const check = new OptionChecks("AgentsMdReminder");
    for (const name of FUNCTIONS) check.func(name, options[name]);
    this.#maxTokens = check.integer("maxTokens", options.maxTokens ?? 1000, 1);
    check.string("reminderText", options.reminderText ?? "");
    const { readFile = options.read, pathExists, isDirectory } = options;
    this.#reader = readFile && {
      readFile,
      ...(pathExists && { pathExists }),
      ...(isDirectory && { isDirectory }),
    };
    this.#options = options;
  }

  async processInputStep(args: ProcessInputStepArgs): Promise<void> {
    const { messages, sendSignal, state } = args;
    const { isEnabled, getReader, getIgnoredInstructionPaths, reminderText } = this.#options;
    if (isEnabled && !(await isEnabled(args))) return;
    const reader = (await getReader?.(args)) ?? this.#reader;
    const sent = ((state["sent"] as Set<string>) ??= new Set(messages.flatMap(remindedPath)));
    for (const path of (await getIgnoredInstructionPaths?.(args)) ?? []) sent.add(path);
    for (const call of finishedCalls(messages, state)) {
      const path = await findInstructions(call.args, reader);
      if (path === undefined || sent.has(path)) continue;
      sent.add(path);
      const text = reader ? await reader.readFile(path) : resultText(call);
      if (!text) continue;
      const { sliceByTokens } = await import("tokenx");
      const contents = [reminderText, sliceByTokens(text, 0, this.#maxTokens)].filter(Boolean).join("\n\n");
      await sendSignal({ type: "reactive", contents, attributes: { type: REMINDER, path } });
    }
  }
}

/** The calls with a result that no earlier step has looked at. */
function finishedCalls(messages: readonly StoredMessage[], state: Record<string, unknown>): ToolInvocation[] {
  const seen = (state["seen"] ??= new Set()) as Set<string>;
  return messages
    .flatMap(({ content }) => content.parts)
    .flatMap((part) => (part.type === "tool-invocation" ? [part.toolInvocation] : []))
    .filter((call) => {
      if (call.state !== "result" || call.isError || seen.has(call.toolCallId)) return false;
      seen.add(call.toolCallId);
      return true;
    });
}

function remindedPath(message: StoredMessage): string[] {
  const signal = message.content.metadata?.["signal"] as Partial<SignalRecord> | undefined;
  const { type, path } = signal?.attributes ?? {};
  return type === REMINDER && typeof path === "string" ? [path] : [];
}

/** The file that an argument names, or, where files can be looked for, the one nearest to a path among the arguments. */
async function findInstructions(
  args: unknown,
  reader: InstructionReader | undefined,
): Promise<string | undefined> {
  if (typeof args !== "object" || args === null) return undefined;
  const paths = Object.values(args).filter(
    (value): value is string => typeof value === "string" && PATH.test(value),
  );
  const named = paths.find((path) => path.split(/[/\\]/).at(-1) === FILE);
  if (named !== undefined || !reader?.pathExists) return named;
  for (const path of paths.filter((one) => /[/\\]/.test(one))) {
    const isFolder = (await reader.isDirectory?.(path)) ?? false;
    for (let folder = isFolder ? path : parentOf(path); folder !== undefined; folder = parentOf(folder)) {
      const file = `${folder.replace(/[/\\]$/, "")}/${FILE}`;
      if (await reader.pathExists(file)) return file;
    }
  }
  return undefined;
}

function parentOf(path: string): string | undefined {
  const end = path.search(/[/\\][^/\\]*[/\\]?$/);
  return end <= 0 ? undefined : path.slice(0, end);
}

function resultText({ result }: ToolInvocation): string | undefined {
  if (typeof result === "string") return result;
  const { content, text, contents } = Object(result) as Record<string, unknown>;
  return [content, text, contents].find((value): value is string => typeof value === "string");
}
