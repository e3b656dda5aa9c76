import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { ChildConfig } from "./child.ts";

const PROGRAM = fileURLToPath(new URL("./child.ts", import.meta.url));

interface Ended {
  signal: string | undefined;
  stdout: string;
}

/** Runs the program to its end, or until it kills itself. */
function run(config: ChildConfig): Promise<Ended> {
  const args = ["--conditions=selvedge-source", "--no-warnings", PROGRAM, JSON.stringify(config)];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, { timeout: 100_000 }, (error, stdout, stderr) => {
      const signal = (error as { signal?: string } | null)?.signal;
      if (error && signal !== "SIGKILL") reject(new Error(`${error.message}\n${stderr}`));
      else resolve({ signal, stdout });
    });
  });
}

async function order(kill: NonNullable<ChildConfig["kill"]>) {
  const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const config = { file: join(folder, "store.db"), marks: join(folder, "marks") };
  await writeFile(config.marks, "");
  const first = await run({ ...config, kill });
  const isKilled = first.signal === "SIGKILL";
  const { stdout } = isKilled ? await run(config) : first;
  const marks = (await readFile(config.marks, "utf8")).trim().split("\n");
  const times = (text: string) => marks.filter((one) => one === text).length;
  return {
    isKilled,
    seen: JSON.parse(stdout) as { commits: number; runs: string[]; results: number },
    times,
  };
}

describe("a process that is killed while an agent waits for its workflow", () => {
  const near = [3, 6, 9, 12, 15, 18];
  const all = Array.from({ length: 20 }, (_, commit) => commit).filter((commit) => !near.includes(commit));
  const cases = (commits: number[]) =>
    commits.flatMap((commit) => (["before", "after"] as const).map((when) => ({ commit, when })));

  async function check(kill: NonNullable<ChildConfig["kill"]>): Promise<void> {
    const { isKilled, seen, times } = await order(kill);
    // One run, whose result reached the model once.
    expect(seen.runs).toEqual(["success"]);
    expect(seen.results).toBe(1);
    // A step in flight is executed again; one that has a result is not.
    for (const step of ["price", "asked", "approved", "ship"]) {
      expect(times(step), step).toBeGreaterThanOrEqual(1);
      expect(times(step), step).toBeLessThanOrEqual(isKilled ? 2 : 1);
    }
    expect(times("price") + times("asked") + times("approved") + times("ship")).toBeLessThanOrEqual(5);
  }

  it.each(cases(near))("finds its run again: $when commit $commit", { timeout: 240_000 }, check);
  it.each(cases(all))(
    "finds its run again: $when commit $commit",
    { timeout: 240_000, tags: ["long"] },
    check,
  );
});
