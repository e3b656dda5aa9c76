import { lstat, readFile } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";
import { IgnoreRules as RulesBelow } from "@selvedge/core/workspace";

/** What Git would leave out: the `.gitignore` files from the top of a repository down to a folder. Never changed. */
export class IgnoreRules {
  readonly #top: string;
  readonly #rules: RulesBelow;

  private constructor(top: string, rules = new RulesBelow()) {
    this.#top = top;
    this.#rules = rules;
  }

  /** The rules that hold in a folder, from its own file and, inside a repository, from those above. */
  static async at(folder: string): Promise<IgnoreRules> {
    const top = (await repositoryOf(folder)) ?? folder;
    let rules = new IgnoreRules(top);
    for (const path of foldersBetween(top, folder)) rules = await rules.inside(path);
    // Who names a folder wants it read, also one that Git leaves out.
    if (top === folder || !rules.leavesOut(folder, true)) return rules;
    return new IgnoreRules(folder).inside(folder);
  }

  /** These rules and those of a folder below, which go first. */
  async inside(folder: string): Promise<IgnoreRules> {
    const text = await readFile(join(folder, ".gitignore"), "utf8").catch(() => "");
    return text === ""
      ? this
      : new IgnoreRules(this.#top, await this.#rules.inside(this.#pathOf(folder), [text]));
  }

  leavesOut(path: string, isFolder: boolean): boolean {
    return this.#rules.leavesOut(this.#pathOf(path), isFolder);
  }

  #pathOf(path: string): string {
    return relative(this.#top, path).split(sep).join("/");
  }
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
