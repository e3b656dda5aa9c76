import { dirname, join, resolve } from "node:path";
import type { System } from "../../system.ts";
import { FileTree } from "../contained/file-tree.ts";
import { isWithin } from "../contained/parse-path.ts";
import { turns } from "../scan/turns.ts";
import { isHarmless } from "./git-config.ts";
import { type NamedByGit, namedByGit } from "./git-protection.ts";
import { createLink, entriesOf, kindOf, linkTarget, stampOf, textOf } from "./machine.ts";

/** Directories that are searched for repositories. */
const MAX_FOLDERS = 20_000;
const MAX_TEXT_BYTES = 64 * 1024;
/** A directory that changed later may change again without getting another time. */
const SETTLED_MS = 1000;
const ASIDE = ".blocked";

interface Folder {
  stamp: string;
  folders: string[];
  /** An entry `.git`. */
  git: "directory" | "file" | "link" | undefined;
  /** Git takes a directory with these names for a repository, without `.git`. */
  isBare: boolean;
}

/** A file that decides what Git runs. */
interface Setting {
  path: string;
  kind: "config" | "commondir" | "hook" | "pointer" | "link";
  stamp: string;
  text?: string | undefined;
}

/**
 * Finds repositories that a command creates below the working directory, or changes there, so that Git would run programs
 * of the command's choice in them, or in the repository around them. Mounts cannot prevent that: a repository can have
 * any name. What it finds it renames.
 */
export class PlantedRepositories {
  readonly #root: string;
  readonly #files: FileTree;
  readonly #system: System;
  #folders = new Map<string, Folder>();
  #before = new Map<string, Setting>();
  #beforeStamps = new Set<string>();
  #named: Pick<NamedByGit, "absent" | "links"> = { absent: new Map(), links: new Map() };

  constructor(root: string, system: System) {
    this.#root = root;
    this.#files = new FileTree([root], system);
    this.#system = system;
  }

  /** Called before a command runs, when no other does. */
  async remember(): Promise<void> {
    const { settings } = await this.#scan();
    this.#before = new Map(settings.map((one) => [one.path, one]));
    this.#beforeStamps = new Set(settings.map(({ kind, stamp }) => `${kind} ${stamp}`));
    this.#named = namedByGit(this.#root);
  }

  /** Renames what was planted since. Returns what a person should know, if anything. */
  async check(): Promise<string | undefined> {
    const { settings, repositories, isCut } = await this.#scan();
    const moved: string[] = [];
    for (const setting of settings)
      if (!this.#isKnown(setting) && !isSafe(setting, this.#root, repositories))
        moved.push(await this.#moveAside(setting.path));
    const { absent, links } = this.#named;
    for (const [path, isDirectoryToo] of absent)
      if (["file", "link"].includes(kindOf(path)!) || (isDirectoryToo && kindOf(path)))
        moved.push(await this.#moveAside(path));
    for (const [path, target] of links)
      if (kindOf(path) && !isLinkTo(path, target)) {
        moved.push(await this.#moveAside(path));
        createLink(path, target);
      }
    const cut = isCut
      ? `The working directory has more than ${MAX_FOLDERS.toLocaleString("en")} directories; only those were searched for repositories.`
      : undefined;
    if (moved.length === 0) return cut;
    const names = moved.slice(0, 20).map((path) => path.slice(this.#root.length + 1));
    return [
      `The command left settings that make Git run programs outside the sandbox. They were renamed, with "${ASIDE}" at the end: ${names.join(", ")}${moved.length > 20 ? `, and ${moved.length - 20} more` : ""}.`,
      cut,
    ]
      .filter(Boolean)
      .join(" ");
  }

  #isKnown({ path, kind, stamp }: Setting): boolean {
    // A directory that was moved brings its settings along unchanged.
    return this.#before.get(path)?.stamp === stamp || this.#beforeStamps.has(`${kind} ${stamp}`);
  }

  async #moveAside(path: string): Promise<string> {
    const text = this.#before.get(path)?.text;
    for (let number = 0; number < 100; number++) {
      const aside = `${path}${ASIDE}${number || ""}`;
      if (kindOf(aside)) continue;
      this.#files.move(path, aside, true);
      break;
    }
    if (text !== undefined)
      await this.#files.write(path, Buffer.from(text), { overwrite: false, createParents: false });
    return path;
  }

  /** The settings of all repositories below the root, except those in the root's own `.git`, which mounts protect. */
  async #scan(): Promise<{ settings: Setting[]; repositories: Set<string>; isCut: boolean }> {
    const turn = turns(this.#system);
    const repositories = new Set<string>();
    const settings: Setting[] = [];
    const folders = new Map<string, Folder>();
    // Those that were there before go first: many new ones must not hide a change in them.
    const queues: [string[], string[]] = [[this.#root], []];
    const add = (path: string) => queues[this.#folders.has(path) ? 0 : 1].push(path);
    for (let path = next(queues); path !== undefined && folders.size < MAX_FOLDERS; path = next(queues)) {
      await turn();
      const folder = this.#look(path);
      if (!folder) continue;
      folders.set(path, folder);
      const git = join(path, ".git");
      if (folder.isBare) repositories.add(path);
      if (path !== this.#root && folder.git === "directory") {
        repositories.add(git);
        add(join(git, "modules"));
        add(join(git, "worktrees"));
      }
      if (path !== this.#root && folder.git && folder.git !== "directory")
        settings.push(...setting(git, "pointer"));
      for (const name of folder.folders) add(join(path, name));
    }
    this.#folders = folders;
    for (const path of repositories) settings.push(...settingsOf(path));
    return { settings, repositories, isCut: queues.some((queue) => queue.length > 0) };
  }

  #look(path: string): Folder | undefined {
    const found = stampOf(path);
    if (!found?.isDirectory) return undefined;
    const known = this.#folders.get(path);
    if (known?.stamp === found.stamp && this.#system.now() - found.changedAt > SETTLED_MS) return known;
    const entries = entriesOf(path);
    const names = new Set(entries.map(({ name }) => name));
    return {
      stamp: this.#system.now() - found.changedAt > SETTLED_MS ? found.stamp : "",
      folders: entries
        .filter(({ name, kind }) => kind === "directory" && name !== ".git")
        .map(({ name }) => name),
      git: entries.find(({ name }) => name === ".git")?.kind,
      isBare: names.has("HEAD") && (names.has("commondir") || (names.has("objects") && names.has("refs"))),
    };
  }
}

function isLinkTo(path: string, target: string): boolean {
  return kindOf(path) === "link" && linkTarget(path) === target;
}

function next([first, second]: [string[], string[]]): string | undefined {
  return first.shift() ?? second.shift();
}

function settingsOf(repository: string): Setting[] {
  const hooks = join(repository, "hooks");
  return [
    ...setting(join(repository, "config"), "config"),
    ...setting(join(repository, "config.worktree"), "config"),
    ...setting(join(repository, "commondir"), "commondir"),
    ...(kindOf(hooks) === "link"
      ? setting(hooks, "link")
      : entriesOf(hooks)
          .filter(({ name }) => !name.endsWith(".sample") && !name.includes(ASIDE))
          .flatMap(({ name }) => setting(join(hooks, name), "hook"))),
  ];
}

function setting(path: string, kind: Setting["kind"]): Setting[] {
  const found = stampOf(path);
  if (!found) return [];
  const text = kind === "hook" || kind === "link" ? undefined : textOf(path, MAX_TEXT_BYTES);
  return [{ path, kind, stamp: found.stamp, text }];
}

/** What cannot be read is not safe. */
function isSafe({ kind, text, path }: Setting, root: string, repositories: ReadonlySet<string>): boolean {
  if (text === undefined) return false;
  if (kind === "config") return isHarmless(text);
  if (kind === "commondir") return text.trim() === ".";
  // A file `.git` is safe if it leads out, to where commands cannot write, or to a repository that is checked itself.
  const target = resolve(dirname(path), /^gitdir: (.*)/.exec(text)?.[1]?.trim() ?? ".");
  return !isWithin(target, root) || repositories.has(target) || isWithin(target, join(root, ".git/modules"));
}
