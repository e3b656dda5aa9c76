import { AgentError } from "../../errors.ts";
import {
  type GrepInput,
  type GrepPart,
  type GrepResult,
  joinParts,
  TOO_SLOW,
  toPattern,
} from "../grep-files.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";
import { runScan, SCAN_TIME_LIMIT_MS, type ScanOptions, ScanTimeoutError, threadsFor } from "./run-scan.ts";

interface SearchOptions extends ScanOptions {
  sensitive: readonly string[];
}

/** Searches the text files of a workspace, with as many threads as there are. At the time limit, returns what was found. */
export async function searchText(
  files: WorkspaceFilesystem,
  input: GrepInput,
  { sensitive, ...options }: SearchOptions,
): Promise<GrepResult> {
  toPattern(input);
  const count = Math.max(1, threadsFor(files));
  const parts: GrepPart[] = [];
  const outcomes = await Promise.allSettled(
    Array.from({ length: count }, async (_, mine) => {
      const share = { count, mine };
      const onPart = (part: GrepPart): void => void parts.push(part);
      const { stopped, ...rest } = await runScan(
        files,
        "grep",
        { ...input, sensitive, ...(count > 1 && { share }) },
        { ...options, onPart },
      );
      parts.push(rest);
      return stopped;
    }),
  );
  let stopped: string | undefined;
  for (const outcome of outcomes) {
    if (outcome.status === "fulfilled") stopped ??= outcome.value;
    else if (outcome.reason instanceof ScanTimeoutError) {
      const seconds = (options.timeLimitMs ?? SCAN_TIME_LIMIT_MS) / 1000;
      stopped = `after ${seconds} s: there are too many files, or ${TOO_SLOW}`;
    } else throw AgentError.is(outcome.reason) ? outcome.reason : (outcome.reason as Error);
  }
  return joinParts(parts, stopped);
}
