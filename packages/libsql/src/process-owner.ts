import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/**
 * A name for this process that others on the machine can check: processes that share a database file share the machine,
 * so a thread whose process is gone can be taken at once instead of waiting for its lease to expire.
 */
export function processOwnerId(unique: string): string {
  return [hostname(), process.pid, startTime(process.pid) ?? "?", unique].join("|");
}

/** True only if the process certainly no longer exists. */
export function isProcessGone(ownerId: string): boolean {
  const [host, pid, started] = ownerId.split("|");
  if (host !== hostname() || !pid || !/^\d+$/.test(pid)) return false;
  try {
    process.kill(Number(pid), 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
  // Another process may have the number now.
  const now = startTime(Number(pid));
  return started !== "?" && now !== undefined && now !== started;
}

/** When a process started, in kernel ticks; `undefined` if the system does not tell. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie counts as gone.
    return fields[0] === "Z" ? "gone" : fields[19];
  } catch {
    return undefined;
  }
}
