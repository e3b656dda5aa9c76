import { AgentError } from "../errors.ts";
import type { Commit, CommitOutcome, CommitResult } from "./driver.ts";
import { keysOf } from "./keys-of.ts";

/**
 * Carries out several commits for a driver whose commits take a round trip each: in one transaction if possible. If one
 * is refused, nothing took effect, and each is sent alone and has its own outcome. The commits must not depend on each
 * other.
 *
 * `alike` may carry out all of them in a cheaper way, and returns `undefined` if it cannot.
 */
export async function commitTogether(
  commits: readonly Commit[],
  commitOne: (commit: Commit) => Promise<CommitResult>,
  alike?: (commits: readonly Commit[]) => Promise<CommitResult[]> | undefined,
): Promise<CommitOutcome[]> {
  if (commits.length > 1) {
    try {
      const results = await (alike?.(commits) ?? asOne(commits, commitOne));
      return results.map((result) => ({ result }));
    } catch (error) {
      // They may have taken effect. The caller can look each up by its id.
      if (AgentError.is(error, "storage-failed")) return commits.map(() => ({ error }));
    }
  }
  return Promise.all(
    commits.map((commit) =>
      commitOne(commit).then(
        (result) => ({ result }),
        (error: unknown) => ({ error }),
      ),
    ),
  );
}

async function asOne(
  commits: readonly Commit[],
  commitOne: (commit: Commit) => Promise<CommitResult>,
): Promise<CommitResult[]> {
  const writes = commits.flatMap((commit) => commit.writes);
  const { changes, auto } = await commitOne({ key: commits.flatMap(keysOf), writes });
  let first = 0;
  return commits.map((commit) => {
    const [start, end] = [first, (first += commit.writes.length)];
    return { changes: changes.slice(start, end), auto: auto.slice(start, end) };
  });
}
