/** What is wrong with an input, and where: "lines.0.metres". */
export type Issues = ReadonlyMap<string, string>;

export const NO_ISSUES: Issues = new Map();

export function joinPath(path: string, name: string | number): string {
  return path === "" ? String(name) : `${path}.${name}`;
}

/** The issues that a refusal of the server names. Those about the whole input are under "". */
export function toIssues(error: Error): Issues {
  const { details } = error as { details?: { issues?: unknown } };
  const issues = new Map<string, string>();
  for (const issue of Array.isArray(details?.issues) ? details.issues : []) {
    const { path, message } = issue as { path?: unknown; message?: unknown };
    const at = Array.isArray(path)
      ? path.reduce<string>((before, name) => joinPath(before, String(name)), "")
      : "";
    issues.set(at, [issues.get(at), String(message)].filter(Boolean).join(" "));
  }
  return issues;
}

/** The issues without those about a value that has been changed, or about what is in it. */
export function withoutIssuesAt(issues: Issues, path: string): Issues {
  if (issues.size === 0 || path === "") return NO_ISSUES;
  return new Map([...issues].filter(([at]) => at !== path && !at.startsWith(`${path}.`)));
}
