import { cpus } from "node:os";
import { sleep } from "./script.ts";

/** Waits, for a bounded time, until the machine is at least half idle. */
export async function quiet(maxMs: number): Promise<void> {
  const end = performance.now() + maxMs;
  while (performance.now() < end) {
    const before = read();
    await sleep(400);
    const after = read();
    if ((after.idle - before.idle) / (after.all - before.all) > 0.5) return;
  }
}

function read(): { idle: number; all: number } {
  let idle = 0;
  let all = 0;
  for (const { times } of cpus()) {
    idle += times.idle;
    all += Object.values(times).reduce((sum, time) => sum + time, 0);
  }
  return { idle, all };
}
