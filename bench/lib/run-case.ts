import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Case, CaseResult } from "../cases/types.ts";

export type Outcome = { ok: true; result: CaseResult } | { ok: false; error: string };

export interface RunCaseOptions {
  smoke: boolean;
  /** Folder for CPU profiles of the timed repetitions. */
  prof: string | undefined;
}

const FLAGS = [
  "--no-warnings",
  "--expose-gc",
  "--experimental-import-meta-resolve",
  "--max-old-space-size=8192",
];
const TIMEOUT_MS = 12 * 60_000;
const CHILD = fileURLToPath(new URL("../child.ts", import.meta.url));

/** Runs a case for an adapter: each of its variants in a fresh process, one after the other, with the results merged. */
export async function runCase(c: Case, adapter: string, options: RunCaseOptions): Promise<Outcome> {
  if (!c.variants || options.smoke) return runChild(c.id, adapter, options);
  const merged: CaseResult = {};
  for (const variant of c.variants()) {
    const outcome = await runChild(c.id, adapter, options, variant);
    if (!outcome.ok) return outcome;
    Object.assign(merged, outcome.result);
  }
  return { ok: true, result: merged };
}

function runChild(
  caseId: string,
  adapter: string,
  { smoke, prof }: RunCaseOptions,
  variant?: string,
): Promise<Outcome> {
  const env = {
    ...process.env,
    NODE_ENV: "production",
    ...(prof && { BENCH_PROF_DIR: prof, BENCH_PROF_NAME: `${caseId}-${adapter}` }),
    ...(variant && { BENCH_VARIANT: variant }),
  };
  const child = spawn(process.execPath, [...FLAGS, CHILD, caseId, adapter, smoke ? "smoke" : "full"], {
    stdio: ["ignore", "ignore", "pipe", "pipe"],
    env,
  });
  let answer = "";
  let stderr = "";
  child.stdio[3]!.on("data", (data) => (answer += data));
  child.stderr!.on("data", (data) => {
    if (stderr.length < 4000) stderr += data;
  });
  const timer = setTimeout(() => child.kill("SIGKILL"), TIMEOUT_MS);
  return new Promise((resolve) => {
    child.on("close", (code, signal) => {
      clearTimeout(timer);
      const line = answer.trim().split("\n").pop();
      resolve(
        line ? JSON.parse(line) : { ok: false, error: `exit ${code ?? signal}: ${tellingLines(stderr)}` },
      );
    });
  });
}

/** The telling lines of a crash, without the paths of this machine. */
function tellingLines(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() && !/^\s*\d+: 0x/.test(line));
  return lines
    .slice(0, 4)
    .join(" | ")
    .replace(/(file:\/\/)?\/[\w.@+/-]+\//g, "")
    .slice(0, 400);
}
