import { type IdentifiedProcess, type MachineProcesses, sleep, type System } from "../../system.ts";
import { descendantsOf, isGroupAlive, signal, startTimeOf, thisMachine } from "./machine.ts";

const GRACE_MS = 5000;
const MAX_LOOK_MS = 50;

/** A process and what is known to run below it. */
export interface ProcessTree {
  leader: number;
  /** The leader only waits for a sandbox, which ends without warning if it is signalled. */
  isMonitor?: boolean;
  /** Processes that no longer count as its descendants when it has ended. */
  known?: readonly IdentifiedProcess[];
}

/** Ends a process group and everything below its leader: TERM, then KILL after 5 s. Resolves when all are gone. */
export async function killProcess(
  { leader, isMonitor = false, known = [] }: ProcessTree,
  system: System,
): Promise<void> {
  if (process.platform === "win32") return void signal(leader, "SIGKILL");
  const below = [...known, ...descendantsOf(leader).map(identify)];
  const isLeft = () => isGroupAlive(leader) || below.some(isSame);
  if (!isLeft()) return;
  if (!isMonitor) signal(-leader, "SIGTERM");
  for (const one of below) if (isSame(one)) signal(one.pid, "SIGTERM");
  if (await ended(isLeft, system, GRACE_MS)) return;
  for (const one of [...below, ...descendantsOf(leader).map(identify)])
    if (isSame(one)) signal(one.pid, "SIGKILL");
  signal(-leader, "SIGKILL");
  await ended(isLeft, system, Number.POSITIVE_INFINITY);
}

/** The processes of the machine that this process runs on. */
export function realMachine(system: System): MachineProcesses {
  return {
    ...thisMachine(),
    self: identify(process.pid),
    identify,
    isRunning: isSame,
    kill: (leader) => killProcess({ leader }, system),
  };
}

export function identify(pid: number): IdentifiedProcess {
  return { pid, startTime: startTimeOf(pid) };
}

function isSame({ pid, startTime }: IdentifiedProcess): boolean {
  return startTime !== undefined && startTimeOf(pid) === startTime;
}

async function ended(isLeft: () => boolean, system: System, ms: number): Promise<boolean> {
  const until = system.monotonic() + ms;
  for (let pause = 1; isLeft(); pause = Math.min(2 * pause, MAX_LOOK_MS)) {
    if (system.monotonic() >= until) return false;
    await sleep(system, pause);
  }
  return true;
}
