import { AgentError } from "../../errors.ts";
import { fileRules } from "../file-rules.ts";
import { findFiles } from "../grep-files.ts";
import type { ScanContext } from "../scan/scan-context.ts";
import type { ScanSource } from "../scan/scan-source.ts";

export interface FileFacts {
  path: string;
  size: number;
  modifiedAt: number;
}

/** Files per report: a thread's message is read at once. */
const REPORTED = 500;

/**
 * The files that paths and globs name, with what shows a change. Ignored, sensitive and large ones are left out, and so
 * are paths that do not exist. Returns those that were not reported.
 */
export async function filesToIndex(
  source: ScanSource,
  input: { paths: readonly string[]; sensitive: readonly string[]; most: number; maxBytes: number },
  { pause, report }: ScanContext<FileFacts[]> = {},
): Promise<FileFacts[]> {
  const { isSensitive } = await fileRules(input);
  const found = new Set<string>();
  let part: FileFacts[] = [];
  for (const path of input.paths) {
    const visiting = findFiles(source, { path, includeHidden: false, pause }, async (file, folder) => {
      if (found.has(file.path) || isSensitive(file.path) || isSensitive(file.name)) return false;
      const facts = await folder.facts(file.name);
      if (!facts || facts.size > input.maxBytes) return false;
      found.add(file.path);
      part.push({ path: file.path, ...facts });
      if (report && part.length >= REPORTED) {
        report(part);
        part = [];
      }
      return found.size >= input.most;
    });
    await visiting.catch((error: unknown) => {
      if (!AgentError.is(error, "not-found")) throw error;
    });
  }
  return part;
}
