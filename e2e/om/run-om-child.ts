import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { OmChildConfig } from "./child.ts";

const CHILD = fileURLToPath(new URL("./child.ts", import.meta.url));

export interface OmChildReport {
  /** The turns that were answered. */
  turns: number[];
  isDone: boolean;
  isCloned: boolean;
  signal: NodeJS.Signals | null;
  code: number | null;
}

/** Runs a child to its end, whichever that is. */
export function runOmChild(config: OmChildConfig): Promise<OmChildReport> {
  const child = spawn(
    process.execPath,
    ["--conditions=selvedge-source", "--no-warnings", CHILD, JSON.stringify(config)],
    { stdio: ["ignore", "inherit", "inherit", "ipc"] },
  );
  const report: OmChildReport = { turns: [], isDone: false, isCloned: false, signal: null, code: null };
  child.on("message", (message: { turn?: number; done?: boolean; cloned?: boolean }) => {
    if (message.turn !== undefined) report.turns.push(message.turn);
    if (message.done) report.isDone = true;
    if (message.cloned) report.isCloned = true;
  });
  return new Promise((resolve) => {
    child.on("exit", (code, signal) => resolve({ ...report, code, signal }));
  });
}
