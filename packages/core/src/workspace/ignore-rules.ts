import type { Ignore } from "ignore";

/** What Git leaves out below a root: the `.gitignore` and `.ignore` files from there down. Never changed. */
export class IgnoreRules {
  readonly #rules: Ignore | undefined;

  constructor(rules?: Ignore) {
    this.#rules = rules;
  }

  /** These rules and those of a directory below, which take precedence. `directory` is relative to the root. */
  async inside(directory: string, texts: readonly string[]): Promise<IgnoreRules> {
    const lines = texts.flatMap((text) => text.replace(/^\uFEFF/, "").split(/\r?\n/));
    if (lines.every((line) => line.trim() === "")) return this;
    const { default: ignore } = await import("ignore");
    // As Git is set up where file names have no case.
    const rules = ignore({ ignoreCase: process.platform === "win32" || process.platform === "darwin" });
    if (this.#rules) rules.add(this.#rules);
    return new IgnoreRules(rules.add(lines.map((line) => below(directory, line))));
  }

  /** `path` is relative to the root. */
  leavesOut(path: string, isDirectory: boolean): boolean {
    if (path === ".git" || path.endsWith("/.git")) return true;
    return this.#rules?.ignores(isDirectory ? `${path}/` : path) ?? false;
  }
}

/** A line of the `.gitignore` of a directory, as it would be written at the root. */
function below(directory: string, line: string): string {
  if (directory === "") return line;
  // A line without a pattern must not become one that names the directory.
  if (line.startsWith("#") || /^!?[\s/]*$/.test(line)) return "";
  const isNegated = line.startsWith("!");
  const pattern = (isNegated ? line.slice(1) : line).replace(/^\\([!#])/, "$1");
  const isAnchored = /\/\s*[^\s]/.test(pattern);
  const start = directory.replaceAll(/[\\*?[\]!# ]/g, String.raw`\$&`);
  const rest = isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`;
  return `${isNegated ? "!" : ""}${start}/${rest}`;
}
