import { fault } from "./tool-fault.ts";
import type { System } from "@selvedge/core/memory";

/** Waits for work that has no time limit itself. */
export function within<Result>(system: System, ms: number, work: Promise<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    const hint = "The page does not respond. Open it again with browser_goto.";
    const cancel = system.setTimer(ms, () =>
      reject(fault("timeout", `The page did not respond within ${ms} ms.`, hint)),
    );
    work.then(resolve, reject).finally(cancel);
  });
}
