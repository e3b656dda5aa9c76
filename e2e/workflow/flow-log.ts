import { randomUUID } from "node:crypto";
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { Execution, FlowOutside, WorkflowLedger } from "@selvedge/testing/simulator";

/** What steps did outside, one line each. A line that was written survives the process. */
type Line =
  | { what: "began"; execution: Execution; pid: number }
  | { what: "effect" | "kept"; execution: Execution; name: string; value?: number };

/** Where the process may die inside a step. */
export type StepPoint = "step" | "effect";

/** The world around the steps of a real process: each thing they do is a line in a file. */
export function loggedOutside(
  file: string,
  options: { stepMs: number; maybeDie(point: StepPoint, when: "before" | "after"): void },
): Omit<FlowOutside, "agent"> {
  const { stepMs, maybeDie } = options;
  const write = (line: Line): void => appendFileSync(file, `${JSON.stringify(line)}\n`);
  return {
    began: (execution) => {
      maybeDie("step", "before");
      write({ what: "began", execution, pid: process.pid });
    },
    work: async () => {
      await delay(stepMs);
      maybeDie("step", "after");
    },
    async effect(execution, name) {
      maybeDie("effect", "before");
      write({ what: "effect", execution, name });
      await delay(1);
      maybeDie("effect", "after");
      return Number.parseInt(randomUUID().slice(0, 8), 16);
    },
    kept: (execution, name, value) => write({ what: "kept", execution, name, value }),
    ended: () => {},
    coin: () => Math.random() < 0.5,
    fresh: () => Number.parseInt(randomUUID().slice(0, 8), 16),
    now: () => Date.now(),
  };
}

/** Replays what processes wrote down about a run, which checks it. */
export function readLog(file: string, ledger: WorkflowLedger, runId: string): void {
  if (!existsSync(file)) return;
  for (const text of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
    const line = JSON.parse(text) as Line;
    if (line.execution.runId !== runId) continue;
    if (line.what === "began") ledger.began(`process ${line.pid}`, line.execution);
    else if (line.what === "effect") ledger.effect(line.execution, line.name);
    else ledger.kept(line.execution, line.name, line.value!);
  }
}
