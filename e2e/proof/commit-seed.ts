import { execFileSync } from "node:child_process";

/** A seed that changes with every commit, and is the same for all who have it. 1 outside a repository. */
export function commitSeed(): number {
  try {
    const commit = execFileSync("git", ["rev-parse", "HEAD"], { encoding: "utf8", stdio: "pipe" });
    return Number.parseInt(commit.slice(0, 7), 16);
  } catch {
    return 1;
  }
}
