import { lstat, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import ignore, { type Ignore } from "ignore";

/** What Git would leave out: the `.gitignore` files from the top of a repository down to a folder. Never changed. */
export class IgnoreRules {
  readonly #top: string;
  readonly #rules: Ignore;

  private constructor(top: string, rules: Ignore) {
    this.#top = top;
    this.#rules = rules;
  }

  /** The rules that hold in a folder, from its own file and, inside a repository, from those above. */
  static async at(folder: string): Promise<IgnoreRules> {
    const top = (await repositoryOf(folder)) ?? folder;
    let rules = new IgnoreRules(top, createIgnore());
    for (const path of foldersBetween(top, folder)) rules = await rules.inside(path);
    // Who names a folder wants it read, also one that Git leaves out.
    if (top === folder || !rules.leavesOut(folder, true)) return rules;
    return new IgnoreRules(folder, createIgnore()).inside(folder);
  }

  /** These rules and those of a folder below, which go first. */
  async inside(folder: string): Promise<IgnoreRules> {
    const text = await readFile(join(folder, ".gitignore"), "utf8").catch(() => "");
    if (text === "") return this;
    const lines = text.replace(/^\uFEFF/, "").split(/\r?\n/);
    const prefix = this.#pathOf(folder);
    return new IgnoreRules(
      this.#top,
      createIgnore()
        .add(this.#rules)
        .add(lines.map((line) => below(prefix, line))),
    );
  }

  leavesOut(path: string, isFolder: boolean): boolean {
    return this.#rules.ignores(this.#pathOf(path) + (isFolder ? "/" : ""));
  }

  #pathOf(path: string): string {
    return relative(this.#top, path).split(sep).join("/");
  }
}

function createIgnore(): Ignore {
  // As Git is set up where file names have no case.
  return ignore({ ignoreCase: process.platform === "win32" || process.platform === "darwin" });
}

/** The nearest folder, from this one up, that a repository begins at. */
async function repositoryOf(folder: string): Promise<string | undefined> {
  for (let path = folder; ; path = dirname(path)) {
    if (await lstat(join(path, ".git")).catch(() => undefined)) return path;
    if (dirname(path) === path) return undefined;
  }
}

/** From the top down to a folder, both included. */
function foldersBetween(top: string, folder: string): string[] {
  const path = [folder];
  while (path[0] !== top) path.unshift(dirname(path[0]!));
  return path;
}

/** A line of the `.gitignore` of a folder, as it would be written at the top. */
function below(prefix: string, line: string): string {
  if (prefix === "") return line;
  // A line that says nothing must not become one that names the folder.
  if (line.startsWith("#") || /^!?[\s/]*$/.test(line)) return "";
  const isNegated = line.startsWith("!");
  const pattern = (isNegated ? line.slice(1) : line).replace(/^\\([!#])/, "$1");
  const isAnchored = /\/\s*[^\s]/.test(pattern);
  const start = prefix.replaceAll(/[\\*?[\]!# ]/g, String.raw`\$&`);
  const rest = isAnchored ? pattern.replace(/^\//, "") : `**/${pattern}`;
  return `${isNegated ? "!" : ""}${start}/${rest}`;
}
