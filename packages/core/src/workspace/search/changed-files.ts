import { fileRules } from "../file-rules.ts";
import { findFiles } from "../grep-files.ts";
import type { ScanContext } from "../scan/scan-context.ts";
import type { ScanSource } from "../scan/scan-source.ts";

export interface FileFacts {
  path: string;
  size: number;
  modifiedAt: number;
}

/** The files that paths and globs name, with what shows a change. Ignored and sensitive ones are left out. */
export async function changedFiles(
  source: ScanSource,
  input: { paths: readonly string[]; sensitive: readonly string[]; most: number; maxBytes: number },
  { pause }: ScanContext = {},
): Promise<FileFacts[]> {
  const { isSensitive } = await fileRules(input.sensitive);
  const found = new Map<string, FileFacts>();
  for (const path of input.paths) {
    await findFiles(source, { path, includeHidden: false, pause }, async (file, folder) => {
      if (found.has(file.path) || isSensitive(file.path)) return false;
      const facts = await folder.facts(file.name);
      if (facts && facts.size <= input.maxBytes) found.set(file.path, { path: file.path, ...facts });
      return found.size >= input.most;
    });
  }
  return [...found.values()];
}
