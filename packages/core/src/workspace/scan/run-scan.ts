import { AgentError } from "../../errors.ts";
import type { System } from "../../system.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";
import type { ScanContext } from "./scan-context.ts";
import { SCAN_JOBS, type ScanInput, type ScanJobName, type ScanPart, type ScanResult } from "./scan-jobs.ts";
import { filesystemSource, type ScanSource } from "./scan-source.ts";
import { scanThreads } from "./scan-threads.ts";
import { turns } from "./turns.ts";

export interface ScanOptions<Part = never> {
  system: System;
  signal?: AbortSignal | undefined;
  /** Default: 20,000. */
  timeLimitMs?: number | undefined;
  onPart?: ((part: Part) => void) | undefined;
}

export const SCAN_TIME_LIMIT_MS = 20_000;

/** A scan did not end in time. */
export class ScanTimeoutError extends AgentError {
  constructor(timeLimitMs: number) {
    super(
      "tool-timeout",
      `The workspace has too many files to scan in ${timeLimitMs / 1000} s. Name a part of it.`,
    );
  }
}

/**
 * Runs a job over the files of a workspace: in a thread for those of this machine, otherwise here, with pauses for other
 * work. Throws `ScanTimeoutError` after the time limit.
 */
export async function runScan<Name extends ScanJobName>(
  files: WorkspaceFilesystem,
  job: Name,
  input: ScanInput<Name>,
  options: ScanOptions<ScanPart<Name>>,
): Promise<ScanResult<Name>> {
  const { system, signal, timeLimitMs = SCAN_TIME_LIMIT_MS, onPart } = options;
  const roots = files.scanRoots?.();
  const stop = new AbortController();
  const forward = (): void => stop.abort(signal?.reason);
  const cancel = system.setTimer(timeLimitMs, () => stop.abort(new ScanTimeoutError(timeLimitMs)));
  signal?.addEventListener("abort", forward, { once: true });
  try {
    signal?.throwIfAborted();
    if (roots && threadsFor(files) > 0) {
      const result = await scanThreads.run({ roots, job, input }, { signal: stop.signal, onPart });
      return result as ScanResult<Name>;
    }
    const run = SCAN_JOBS[job] as (
      source: ScanSource,
      input: ScanInput<Name>,
      context: ScanContext<ScanPart<Name>>,
    ) => Promise<ScanResult<Name>>;
    return await run(filesystemSource(files), input, { pause: turns(system, stop.signal), report: onPart });
  } finally {
    cancel();
    signal?.removeEventListener("abort", forward);
  }
}

/** How many threads can scan a filesystem at once; 0 if it has to be done here. */
export function threadsFor(files: WorkspaceFilesystem): number {
  return files.scanRoots ? scanThreads.size : 0;
}
