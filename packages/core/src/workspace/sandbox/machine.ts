import { execFileSync } from "node:child_process";
import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import type { MachineProcesses } from "../../system.ts";

// The machine itself: its processes, its programs, and the directories a sandbox is made of. Paths of models never get here.

export function thisMachine(): Pick<MachineProcesses, "host" | "bootId"> {
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

/** Changes whenever an entry is replaced, written, renamed or gets other permissions. `undefined` if there is none. */
export function stampOf(
  path: string,
): { stamp: string; changedAt: number; isDirectory: boolean } | undefined {
  const found = attempt(() => lstatSync(path, { throwIfNoEntry: false }));
  if (!found) return undefined;
  const { ino, ctimeMs, size } = found;
  return { stamp: `${ino} ${ctimeMs} ${size}`, changedAt: ctimeMs, isDirectory: found.isDirectory() };
}

/** The entries of a directory; none if it cannot be read. */
export function entriesOf(path: string): { name: string; kind: "directory" | "file" | "link" }[] {
  return (attempt(() => readdirSync(path, { withFileTypes: true })) ?? []).map((entry) => ({
    name: entry.name,
    kind: entry.isDirectory() ? "directory" : entry.isSymbolicLink() ? "link" : "file",
  }));
}

/** The text of a small regular file, without following a link. */
export function textOf(path: string, maxBytes: number): string | undefined {
  return attempt(() => {
    const handle = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      const found = fstatSync(handle);
      return found.isFile() && found.size <= maxBytes ? readFileSync(handle, "utf8") : undefined;
    } finally {
      closeSync(handle);
    }
  });
}

/** Creates a file, or a directory where `text` is null, unless something is there. */
export function createIfAbsent(path: string, text: string | null): void {
  attempt(() => (text === null ? mkdirSync(path) : writeFileSync(path, text, { flag: "wx" })));
}

/** Gives an entry the current time, by which other processes see that it is about to be used. */
export function touch(path: string): void {
  attempt(() => chmodSync(path, lstatSync(path).mode & 0o7777));
}

export function linkTarget(path: string): string {
  return readlinkSync(path);
}

/** Creates a link, unless something is there. */
export function createLink(path: string, target: string): void {
  attempt(() => symlinkSync(target, path));
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

/** Removes empty directories and files with this text, unless a process has a mount there: the mount would go with it. */
export function removeUnused(masks: ReadonlyMap<string, string | null>): void {
  const unused = [...masks].filter(([path, text]) =>
    text === null ? kindOf(path) === "empty directory" : textOf(path, 100) === text,
  );
  if (unused.length === 0) return;
  const mounted = process.platform === "linux" ? mountsOf(unused.map(([path]) => path)) : new Set();
  for (const [path, text] of unused)
    if (!mounted.has(path)) attempt(() => (text === null ? rmdirSync(path) : unlinkSync(path)));
}

/** The paths at which a process of this machine, in any namespace, has a mount. */
function mountsOf(paths: readonly string[]): Set<string> {
  const code = (char: string): string => `\\${char.charCodeAt(0).toString(8).padStart(3, "0")}`;
  const fields = paths.map((path) => [path, ` ${path.replaceAll(/[ \t\n\\]/g, code)} `] as const);
  const found = new Set<string>();
  const namespaces = new Set<string>();
  for (const pid of pids()) {
    // Most processes share one, and its list takes longer to read than its name.
    const namespace = attempt(() => readlinkSync(`/proc/${pid}/ns/mnt`));
    if (namespace !== undefined && namespaces.has(namespace)) continue;
    if (namespace !== undefined) namespaces.add(namespace);
    const mounts = attempt(() => readFileSync(`/proc/${pid}/mountinfo`, "utf8"));
    for (const [path, field] of fields) if (mounts?.includes(field)) found.add(path);
  }
  return found;
}

function attempt<Value>(look: () => Value): Value | undefined {
  try {
    return look();
  } catch {
    return undefined;
  }
}
