import { findOptions } from "../source/find-options.ts";
import { OPTION_DIFFERENCES } from "./differences.ts";
import type { SourceFile } from "./read-project.ts";
import type { Report } from "./report.ts";

/** Reports the options that are accepted with no effect, or with another one. */
export function examineOptions(sources: readonly SourceFile[], report: Report): void {
  for (const { path: file, text } of sources) {
    // Other libraries have an Agent, too.
    if (!/@(?:mastra|selvedge)\//.test(text)) continue;
    for (const { callee, path: differs, value: values, remedy } of OPTION_DIFFERENCES) {
      for (const { path, value, line } of findOptions(text, callee)) {
        if (!differs.test(path) || (values && !values.test(value))) continue;
        report.differs({ file, line, what: `${callee}: ${path.replace(".()", "")}`, remedy });
      }
    }
  }
}
