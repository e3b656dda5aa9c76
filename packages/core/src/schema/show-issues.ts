import type { SchemaIssue } from "./schema.ts";

/** Lists issues as `path: message`; `whole` names the value itself. */
export function showIssues(issues: readonly SchemaIssue[], whole: string, separator = "; "): string {
  return issues.map(({ path, message }) => `${path.join(".") || whole}: ${message}`).join(separator);
}
