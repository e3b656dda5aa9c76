import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { AgentError } from "../../errors.ts";
import { isWithin } from "../contained/parse-path.ts";
import { pathsIn } from "./git-config.ts";
import { createIfAbsent, kindOf, linkTarget, realPath, stampOf, textOf, touch } from "./machine.ts";

// Git runs programs that its hooks and its configuration name, outside the sandbox, when a person uses it later. So a
// command cannot change them, nor what leads Git to others, nor move the directory they are in: a mount cannot be renamed.

/**
 * Names in `.git` that lead Git to other configurations, with a content that has no effect (`null`: an empty directory).
 * An absent one is created, because a mount needs a place: it must do no harm to Git outside while it is there.
 */
const NEUTRAL: readonly (readonly [string, string | null])[] = [
  ["commondir", ".\n"],
  ["config.worktree", ""],
  ["modules", null],
  ["worktrees", null],
];
/** What is younger may be about to be mounted by another process. */
const SETTLED_MS = 1000;
const MAX_CONFIG_BYTES = 1024 * 1024;
/** Configurations that include each other. */
const MAX_CONFIGS = 20;
const MAX_LINKS = 40;

/** Creates what is needed to put masks on. Returns what to remove when no command runs. */
export function createMasks(workingDirectory: string): Map<string, string | null> {
  const git = join(workingDirectory, ".git");
  const own = join(workingDirectory, ".selvedge");
  const masks = new Map<string, string | null>();
  if (kindOf(own) === undefined) masks.set(own, null);
  if (kindOf(git) !== "directory") {
    // Bubblewrap creates it. An empty one is what a process that died left behind.
    if (["empty directory", undefined].includes(kindOf(git))) masks.set(git, null);
    return masks;
  }
  for (const [name, text] of NEUTRAL) {
    const path = join(git, name);
    createIfAbsent(path, text);
    if (isNeutral(path, text)) masks.set(path, text);
    touch(path);
  }
  const commondir = textOf(join(git, "commondir"), MAX_CONFIG_BYTES);
  if (commondir !== undefined && commondir.trim() !== ".")
    throw new AgentError(
      "not-supported",
      `${git}/commondir leads Git to ${JSON.stringify(commondir.trim())}, which the sandbox cannot protect. Delete the file if you do not know it, or use isolation: "none".`,
    );
  return masks;
}

/** Leaves out what another process may be about to use. */
export function settled(masks: ReadonlyMap<string, string | null>, now: number): Map<string, string | null> {
  const isSettled = (path: string) => now - (stampOf(path)?.changedAt ?? 0) > SETTLED_MS;
  // The others are created by bubblewrap itself.
  return new Map([...masks].filter(([path]) => !dirname(path).endsWith("/.git") || isSettled(path)));
}

function isNeutral(path: string, text: string | null): boolean {
  return text === null ? kindOf(path) === "empty directory" : textOf(path, 100) === text;
}

/** The arguments of bubblewrap that make these paths of the working directory read-only. */
export function protectedPaths(workingDirectory: string): string[] {
  const git = join(workingDirectory, ".git");
  const own = join(workingDirectory, ".selvedge");
  if (kindOf(git) !== "directory") return [...protect(git), ...protect(own)];
  const { present: named, links } = namedByGit(workingDirectory);
  // A directory that contains a mount could be renamed, so those above are mounts, too. A link cannot be one.
  const fixed = [...named, ...links.keys()];
  const above = new Set([git, ...fixed.flatMap((path) => foldersAbove(path, workingDirectory))]);
  return [
    ...byDepth(above).flatMap((path) => ["--bind", path, path]),
    ...byDepth(named).flatMap((path) => ["--ro-bind", path, path]),
    ...protect(join(git, "hooks")),
    ...(kindOf(join(git, "config")) === undefined
      ? ["--ro-bind", "/dev/null", join(git, "config")]
      : protect(join(git, "config"))),
    ...NEUTRAL.map(([name]) => join(git, name)).flatMap((path) =>
      kindOf(path) === "link" ? protect(path) : ["--ro-bind", path, path],
    ),
    ...protect(own),
  ];
}

function protect(path: string): string[] {
  switch (kindOf(path)) {
    case "link":
      throw new AgentError(
        "not-supported",
        `${path} is a symbolic link, which the sandbox cannot protect. Replace the link by what it points to, or use isolation: "none".`,
      );
    case "directory":
    case "file":
      return ["--ro-bind", path, path];
    default:
      return ["--size", "4096", "--tmpfs", path, "--remount-ro", path];
  }
}

export interface NamedByGit {
  /** Without links on the way. */
  present: Set<string>;
  /** What Git would use if it existed: files, and directories where the value is true. */
  absent: Map<string, boolean>;
  /** Links on the way to programs, with their targets. */
  links: Map<string, string>;
}

/** What the configurations of the repository and of the user name in the working directory: programs, included files, hooks. */
export function namedByGit(top: string, home: string = homedir()): NamedByGit {
  const git = join(top, ".git");
  const present = new Set<string>();
  const absent = new Map<string, boolean>();
  const links = new Map<string, string>();
  const configs = new Set([
    join(git, "config"),
    join(git, "config.worktree"),
    join(home, ".gitconfig"),
    join(home, ".config/git/config"),
    "/etc/gitconfig",
  ]);
  for (const config of configs) {
    const text = textOf(isWithin(config, top) ? config : (realPath(config) ?? config), MAX_CONFIG_BYTES);
    for (const { path, from, redirects } of pathsIn(text ?? "")) {
      const named = resolve(from === "top" ? top : dirname(config), path.replace(/^~(?=\/)/, home));
      if (from === "file" && configs.size < MAX_CONFIGS) configs.add(named);
      if (path === "" || named === top || named === git || !isWithin(named, top)) continue;
      const { real, through } = follow(named, top);
      const [link] = through.keys();
      if (redirects && link !== undefined)
        throw new AgentError(
          "not-supported",
          `Git's configuration names ${named}, and ${link} is a symbolic link, which the sandbox cannot protect. Replace the link by what it points to, or use isolation: "none".`,
        );
      for (const [path, target] of through) links.set(path, target);
      if (real === undefined || real === top || real === git) continue;
      if (kindOf(real) !== undefined) present.add(real);
      // Words that are not paths are searched in `PATH`.
      else if (redirects || path.includes("/")) absent.set(real, redirects);
    }
  }
  return { present, absent, links };
}

/** Where a path of the working directory leads, and the links on the way. `real` is undefined if it leads out. */
function follow(path: string, top: string): { real: string | undefined; through: Map<string, string> } {
  const through = new Map<string, string>();
  const rest = namesBetween(top, path);
  let real = top;
  for (let name = rest.shift(); name !== undefined; name = rest.shift()) {
    const next = join(real, name);
    if (kindOf(next) !== "link") {
      real = next;
      continue;
    }
    const target = linkTarget(next);
    const there = resolve(real, target);
    through.set(next, target);
    if (!isWithin(there, top) || through.size > MAX_LINKS) return { real: undefined, through };
    rest.unshift(...namesBetween(top, there));
    real = top;
  }
  return { real, through };
}

function namesBetween(top: string, path: string): string[] {
  return path
    .slice(top.length)
    .split("/")
    .filter((name) => name !== "");
}

/** The directories between the top and a path, without both. */
function foldersAbove(path: string, top: string): string[] {
  const above: string[] = [];
  for (let folder = dirname(path); isWithin(folder, top) && folder !== top; folder = dirname(folder))
    above.push(folder);
  return above;
}

function byDepth(paths: Iterable<string>): string[] {
  return [...paths].toSorted((one, other) => one.length - other.length);
}
