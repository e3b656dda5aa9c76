import { grepFiles } from "../grep-files.ts";
import { listFiles } from "../list-files.ts";
import { filesToIndex } from "../search/files-to-index.ts";

export interface ScanJobs {
  list: typeof listFiles;
  grep: typeof grepFiles;
  index: typeof filesToIndex;
}

/** What threads can do with files, by name. */
export const SCAN_JOBS: ScanJobs = { list: listFiles, grep: grepFiles, index: filesToIndex };

export type ScanJobName = keyof ScanJobs;
export type ScanInput<Name extends ScanJobName> = Parameters<ScanJobs[Name]>[1];
export type ScanResult<Name extends ScanJobName> = Awaited<ReturnType<ScanJobs[Name]>>;
/** What a job reports before it ends. */
export type ScanPart<Name extends ScanJobName> = Parameters<
  NonNullable<NonNullable<Parameters<ScanJobs[Name]>[2]>["report"]>
>[0];
