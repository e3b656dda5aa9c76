import { execFileSync } from "node:child_process";
import {
  accessSync,
  constants,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";

// The machine itself: its processes, its programs, and the directories a sandbox is made of. Paths of models never get here.

/** Where a process runs: process numbers mean something only on this host, until it restarts. */
export interface Machine {
  host: string;
  bootId: string;
}

export function thisMachine(): Machine {
  // Containers on one machine have their own process numbers.
  const processes = attempt(() => readlinkSync("/proc/self/ns/pid")) ?? "";
  const boot =
    attempt(() => readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim()) ??
    attempt(() => read("sysctl", ["-n", "kern.bootsessionuuid"]));
  return { host: `${hostname()} ${processes}`.trim(), bootId: boot ?? "" };
}

function read(program: string, args: string[]): string {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
}

interface ProcessStat {
  state: string;
  group: number;
  /** Together with the number, it identifies a process until the machine restarts. */
  startTime: string;
}

function statOf(pid: number): ProcessStat | undefined {
  const line = attempt(() => readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (line === undefined) return undefined;
  // The second field is the name in parentheses, which may contain anything.
  const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0]!, group: Number(fields[2]), startTime: fields[19]! };
}

/** When a process started; `undefined` if it has ended. */
export function startTimeOf(pid: number): string | undefined {
  if (process.platform === "linux") {
    const stat = statOf(pid);
    return stat && stat.state !== "Z" ? stat.startTime : undefined;
  }
  return attempt(() => read("ps", ["-o", "lstart=", "-p", `${pid}`])) || undefined;
}

/** Whether a process of the group is left. One that has ended and was not collected does not count. */
export function isGroupAlive(group: number): boolean {
  if (!signal(-group, 0)) return false;
  if (process.platform !== "linux") return true;
  return pids().some((pid) => {
    const stat = statOf(pid);
    return stat?.group === group && stat.state !== "Z";
  });
}

function pids(): number[] {
  return readdirSync("/proc").map(Number).filter(Number.isInteger);
}

/** The processes below a process, nearest first. */
export function descendantsOf(pid: number): number[] {
  const found: number[] = [];
  let parents = [pid];
  while (parents.length > 0) {
    parents = parents.flatMap(childrenOf);
    found.push(...parents);
  }
  return found;
}

function childrenOf(pid: number): number[] {
  const threads = attempt(() => readdirSync(`/proc/${pid}/task`)) ?? [];
  return threads.flatMap((thread) => {
    const line = attempt(() => readFileSync(`/proc/${pid}/task/${thread}/children`, "utf8")) ?? "";
    return line.split(" ").filter(Boolean).map(Number);
  });
}

/** Signals a process, or with a negative number a group. False if there is none. */
export function signal(pid: number, name: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, name);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** The absolute path of a program. */
export function findProgram(name: string): string | undefined {
  return (process.env["PATH"] ?? "")
    .split(delimiter)
    .filter(Boolean)
    .map((directory) => join(directory, name))
    .find((path) => attempt(() => (accessSync(path, constants.X_OK), true)));
}

/** What is at a path, without following a link. */
export function kindOf(path: string): "directory" | "file" | "link" | "empty directory" | undefined {
  const found = attempt(() => lstatSync(path));
  if (!found) return undefined;
  if (found.isSymbolicLink()) return "link";
  if (!found.isDirectory()) return "file";
  return attempt(() => readdirSync(path))?.length === 0 ? "empty directory" : "directory";
}

export function linkTarget(path: string): string {
  return readlinkSync(path);
}

export function makeDirectory(path: string): string {
  mkdirSync(path, { recursive: true });
  return realpathSync(path);
}

export function realPath(path: string): string | undefined {
  return attempt(() => realpathSync(path));
}

export function makeScratch(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), "selvedge-home-"));
}

export function removeScratch(path: string): void {
  rmSync(path, { recursive: true, force: true });
}

/** Removes an empty directory, unless a process has a mount on it: the mount would go with it. */
export function removeIfUnused(path: string): void {
  if (!hasMount(path)) attempt(() => rmdirSync(path));
}

/** Whether a process of this machine, in any namespace, has a mount at a path. */
function hasMount(path: string): boolean {
  if (process.platform !== "linux") return false;
  const code = (char: string): string => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
  const field = ` ${path.replaceAll(/[ \t\n\\]/g, code)} `;
  return pids().some((pid) => attempt(() => readFileSync(`/proc/${pid}/mountinfo`, "utf8"))?.includes(field));
}

function attempt<Value>(look: () => Value): Value | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
