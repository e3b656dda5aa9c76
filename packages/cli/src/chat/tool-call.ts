import { countOf } from "../count-of.ts";
import { type DiffLine, diffLines } from "@selvedge/protocol";
import { oneLine, printable } from "./printable.ts";

/** A tool call as a chat shows it. */
export interface ShownCall {
  id: string;
  name: string;
  args: unknown;
  status: "running" | "waiting" | "done" | "failed" | "stopped";
  result?: unknown;
  /** What it changes, if that is known otherwise than from the call. */
  diff?: readonly DiffLine[];
}

/** In one line: the tool, the arguments, and what came of it, with room for both. */
export function describeCall({ name, args, status, result }: ShownCall): string {
  const called = (length?: number) => `${oneLine(name)} ${describeArgs(args, length)}`.trimEnd();
  if (status === "running") return called();
  if (status === "waiting") return `${called(SHORT)} · waiting for you`;
  if (status === "stopped") return `${called(SHORT)} · stopped`;
  if (hasOutput(args, status, result)) return called();
  return `${called(SHORT)} → ${describeResult(result)}`;
}

const SHORT = 36;
const OUTPUT_LINES = 8;

/** The last lines of what a command printed. They stand below its call. */
export function outputOf({ args, status, result }: ShownCall): string[] {
  return hasOutput(args, status, result) ? lastLines(result as string) : [];
}

/** Whether a command ended with an exit code other than 0. */
export function hasExitCode(args: unknown, result: unknown): boolean {
  const { command } = Object(args) as { command?: unknown };
  return typeof command === "string" && typeof result === "string" && /^Exit code: .+$(?![^])/m.test(result);
}

function hasOutput(args: unknown, status: ShownCall["status"], result: unknown): boolean {
  const { command } = Object(args) as { command?: unknown };
  const isText = typeof command === "string" && typeof result === "string";
  return isText && (status === "done" || hasExitCode(args, result));
}

export function lastLines(output: string): string[] {
  const lines = printable(output).trimEnd().split("\n");
  const rest = lines.length - OUTPUT_LINES;
  return rest <= 0 ? lines : [`… ${rest} more lines`, ...lines.slice(-OUTPUT_LINES)];
}

export function describeResult(result: unknown): string {
  const { content, tasks } = Object(result) as { content?: unknown; tasks?: unknown };
  if (Array.isArray(tasks)) {
    const done = tasks.filter((task) => (Object(task) as { status?: unknown }).status === "completed").length;
    return `${done} of ${countOf(tasks.length, "task")} done`;
  }
  return shown(typeof content === "string" ? content : result);
}

/** What tells most about a call, where it has it. */
const MAIN = ["question", "task", "command", "cmd", "path", "filePath", "file_path", "file", "url"];

/** A call is shown by its main argument, or by its only one. */
function describeArgs(args: unknown, length?: number): string {
  if (typeof args !== "object" || args === null) return shown(args, length);
  const values = Object.values(args);
  if (values.length === 0) return "";
  const { tasks } = args as { tasks?: unknown };
  if (Array.isArray(tasks)) return countOf(tasks.length, "task");
  const value =
    textAt(args as Record<string, unknown>, MAIN) ?? (values.length === 1 ? values[0] : undefined);
  return typeof value === "string" ? `"${oneLine(value, length)}"` : shown(args, length);
}

function shown(value: unknown, length?: number): string {
  return oneLine(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), length);
}

const BEFORE = ["old_string", "oldString", "old_str", "old_text", "oldText"];
const AFTER = ["new_string", "newString", "new_str", "new_text", "newText"];
const MAX_LINES = 40;

/** What an edit changes, where the call or its result tells it. */
export function diffOf({ args, result, diff }: ShownCall): readonly DiffLine[] {
  const lines = diff ?? fromCall(args, result);
  const rest = lines.length - MAX_LINES;
  if (rest <= 0) return lines;
  return [...lines.slice(0, MAX_LINES), { sign: " ", text: `… ${rest} more lines` }];
}

function fromCall(args: unknown, result: unknown): DiffLine[] {
  const given = Object(args) as Record<string, unknown>;
  const after = textAt(given, AFTER);
  const patch =
    textAt(Object(result) as Record<string, unknown>, ["diff", "patch"]) ?? textAt(given, ["diff", "patch"]);
  if (after !== undefined) return diffLines(printable(textAt(given, BEFORE) ?? ""), printable(after));
  return patch === undefined ? [] : patchLines(patch);
}

/** The lines of a unified diff. */
export function patchLines(patch: string): DiffLine[] {
  return printable(patch)
    .split("\n")
    .filter((line) => /^[-+ ]/.test(line) && !/^(---|\+\+\+) /.test(line))
    .map((line) => ({ sign: line[0] as DiffLine["sign"], text: line.slice(1) }));
}

function textAt(values: Record<string, unknown>, names: readonly string[]): string | undefined {
  const name = names.find((one) => typeof values[one] === "string");
  return name === undefined ? undefined : (values[name] as string);
}
