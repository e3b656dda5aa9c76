/** A setting of a Git configuration: `section.key` or `section.subsection.key`, all but the subsection in lower case. */
interface GitSetting {
  /** Without the subsection. */
  key: string;
  value: string;
}

/** Settings that cannot make Git run a program, nor read another configuration. Everything else can, or may one day. */
const HARMLESS = new Set([
  ..."repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf abbrev quotepath untrackedcache sharedrepository"
    .split(" ")
    .map((name) => `core.${name}`),
  "branch.merge",
  "branch.rebase",
  "branch.remote",
  "extensions.objectformat",
  "extensions.worktreeconfig",
  "gc.auto",
  "init.defaultbranch",
  "pull.rebase",
  "push.default",
  "remote.fetch",
  "remote.url",
  "submodule.active",
  "submodule.url",
  "user.email",
  "user.name",
]);
/** An address that names a program: `ext::…`. */
const HELPER_ADDRESS = /^[\w+.-]*::/;

/** Whether no setting can make Git run a program or read another configuration. False for a text that is not plain. */
export function isHarmless(text: string): boolean {
  const { settings, plain } = parse(text);
  return plain && !settings.some(isRisk) && !text.includes("\\\n");
}

function isRisk({ key, value }: GitSetting): boolean {
  return !HARMLESS.has(key) || HELPER_ADDRESS.test(value);
}

/** `plain`: every line was understood. */
function parse(text: string): { settings: GitSetting[]; plain: boolean } {
  const settings: GitSetting[] = [];
  let plain = true;
  let section: string | undefined;
  // A backslash at the end continues the line.
  for (let line of text.replaceAll(/\\\r?\n/g, " ").split(/\r?\n/)) {
    const header = /^\s*\[\s*([\w.-]+)\s*(?:"(?:[^"\\]|\\.)*")?\s*\]/.exec(line);
    if (header) {
      // `[a.b]` is an old spelling of `[a "b"]`.
      section = header[1]!.toLowerCase().split(".")[0]!;
      line = line.slice(header[0].length);
    }
    if (/^\s*([#;].*)?$/.test(line)) continue;
    const setting = /^\s*([A-Za-z][\w-]*)\s*(?:=(.*))?$/.exec(line);
    if (setting && section !== undefined)
      settings.push({ key: `${section}.${setting[1]!.toLowerCase()}`, value: unquote(setting[2] ?? "") });
    else plain = false;
  }
  return { settings, plain };
}

function unquote(value: string): string {
  return value
    .replace(/^((?:[^"#;\\]|\\.|"(?:[^"\\]|\\.)*")*)[#;].*$/, "$1")
    .replaceAll(/"|\\(.)/g, (_, char: string | undefined) => char ?? "")
    .trim();
}

/** A file or directory that a configuration names, relative to the repository (`top`) or to the file itself (`file`). */
export interface NamedPath {
  path: string;
  from: "top" | "file";
  /** Git uses whatever is there as soon as it exists. */
  redirects: boolean;
}

/** What a configuration may name in the repository: included files, the directory of hooks, and words of commands. */
export function pathsIn(text: string): NamedPath[] {
  return parse(text)
    .settings.filter(isRisk)
    .flatMap(({ key, value }): NamedPath[] => {
      if (key === "include.path" || key === "includeif.path")
        return [{ path: value, from: "file", redirects: true }];
      if (key === "core.hookspath") return [{ path: value, from: "top", redirects: true }];
      const words = value.replace(/^!/, "").split(/[\s'"`;|&()<>$]+/);
      return words.map((path) => ({ path, from: "top", redirects: false }));
    });
}
