import type { Ignore } from "ignore";

/** As Git is set up where file names have no case. */
const IGNORES_CASE = process.platform === "win32" || process.platform === "darwin";

/** What Git leaves out below a root: the `.gitignore` and `.ignore` files from there down. Never changed. */
export class IgnoreRules {
  readonly #rules: Ignore | undefined;
  readonly #quick: QuickTest;

  constructor(rules?: Ignore, quick: QuickTest = new QuickTest([], [])) {
    this.#rules = rules;
    this.#quick = quick;
  }

  /** These rules and those of a directory below, which take precedence. `directory` is relative to the root. */
  async inside(directory: string, texts: readonly string[]): Promise<IgnoreRules> {
    const lines = texts.flatMap((text) => text.replace(/^\uFEFF/, "").split(/\r?\n/));
    if (lines.every((line) => line.trim() === "" || line.startsWith("#"))) return this;
    const { default: ignore } = await import("ignore");
    const rules = ignore({ ignoreCase: IGNORES_CASE });
    if (this.#rules) rules.add(this.#rules);
    return new IgnoreRules(rules.add(lines.map((line) => below(directory, line))), this.#quick.with(lines));
  }

  /** `path` is relative to the root. */
  leavesOut(path: string, isDirectory: boolean): boolean {
    if (path === ".git" || path.endsWith("/.git")) return true;
    return this.#rules?.ignores(isDirectory ? `${path}/` : path) ?? false;
  }

  /** The same, faster, for an entry of a directory that is not left out itself. */
  leavesOutEntry(path: string, isDirectory: boolean): boolean {
    return this.#quick.mayMatch(path) && this.leavesOut(path, isDirectory);
  }
}

/**
 * Rules out most paths by their last names, with one regular expression: the exact test takes microseconds per path, and
 * most paths match no rule.
 */
class QuickTest {
  readonly #names: readonly string[];
  readonly #parents: readonly string[];
  readonly #nameTest: RegExp;
  readonly #parentTest: RegExp | undefined;

  constructor(names: readonly string[], parents: readonly string[]) {
    this.#names = names;
    this.#parents = parents;
    this.#nameTest = anyOf(names);
    this.#parentTest = parents.length > 0 ? anyOf(parents) : undefined;
  }

  with(lines: readonly string[]): QuickTest {
    const names = [...this.#names];
    const parents = [...this.#parents];
    for (const line of lines) {
      if (line.startsWith("#") || line.startsWith("!")) continue;
      const parts = line.trim().split("/").filter(Boolean);
      const last = parts.pop();
      if (last === undefined) continue;
      // `a/*` and `a/**` are about the entries of a.
      if (/^\*+$/.test(last) && parts.length > 0) parents.push(toPattern(parts.pop()!));
      else names.push(toPattern(last));
    }
    return new QuickTest(names, parents);
  }

  mayMatch(path: string): boolean {
    const slash = path.lastIndexOf("/");
    if (this.#nameTest.test(slash < 0 ? path : path.slice(slash + 1))) return true;
    if (!this.#parentTest) return false;
    return this.#parentTest.test(slash < 0 ? "" : path.slice(path.lastIndexOf("/", slash - 1) + 1, slash));
  }
}

function anyOf(patterns: readonly string[]): RegExp {
  return new RegExp(`^(?:${patterns.length > 0 ? patterns.join("|") : "(?!)"})$`, IGNORES_CASE ? "iu" : "u");
}

/** A regular expression for at least the names that part of a rule matches. */
function toPattern(part: string): string {
  if (/[[\]\\]/.test(part)) return "[^]*";
  return part
    .replaceAll(/[.+^${}()|]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, "[^]*")
    .replaceAll("?", "[^]");
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
