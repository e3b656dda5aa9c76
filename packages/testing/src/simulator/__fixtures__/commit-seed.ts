import { execFileSync } from "node:child_process";

/**
 * A seed that changes with every commit: each commit is tested with worlds that no test has seen before, and the same commit
 * with the same ones. 1,000,000 outside a repository.
 */
export function commitSeed(): number {
  try {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: "pipe" });
    return Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    return 1_000_000;
  }
}
