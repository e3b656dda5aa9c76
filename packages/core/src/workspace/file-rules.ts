import { pathWithoutLinks } from "./file-identity.ts";
import { normalize } from "./find-entries.ts";
import { globber } from "./globber.ts";
import { PermissionError } from "./workspace-errors.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

export interface FileRules {
  /** Files whose content is only shown after approval. */
  isSensitive(path: string): boolean;
  /** Files that the tools cannot change. */
  isProtected(path: string): boolean;
  /** The globs of the sensitive ones. */
  readonly sensitive: readonly string[];
}

const SENSITIVE = [".env", ".env.*", "*.pem", "*.key", "id_rsa", "id_ed25519", ".npmrc", ".netrc"];
const NOT_SENSITIVE = [".env.example"];
const PROTECTED = ["**/.git/**", "**/.git", "**/.selvedge/**", "**/.selvedge"];

/** Globs of files that the tools treat with care. A glob without a slash is about names, at any depth. */
export interface FilePatterns {
  /** Files that the tools read only after approval. Default: `.env`, `*.pem` and other secrets. */
  readonly sensitive?: readonly string[] | undefined;
  /** Files that the tools cannot change. Default: `.git` and `.selvedge`. */
  readonly protect?: readonly string[] | undefined;
}

/** Tests paths against the patterns of secret and protected files. */
export async function fileRules({
  sensitive = SENSITIVE,
  protect = PROTECTED,
}: FilePatterns = {}): Promise<FileRules> {
  const [isSecret, isExample, isProtected, mayBeSecret] = await Promise.all([
    globber(sensitive, true),
    globber(NOT_SENSITIVE, true),
    globber(protect, true),
    anyName(sensitive),
  ]);
  return {
    isSensitive: (path) =>
      mayBeSecret.test(path.slice(path.lastIndexOf("/") + 1)) && isSecret(path) && !isExample(path),
    isProtected,
    sensitive,
  };
}

/** The patterns of a filesystem that is a part of another one, at a path. */
export function patternsBelow(path: string, { sensitive, protect }: FilePatterns): Required<FilePatterns> {
  const below = (globs: readonly string[]): string[] =>
    globs.map((glob) => (glob.includes("/") ? `${path}/${glob}` : `${path}/**/${glob}`));
  return { sensitive: below(sensitive ?? SENSITIVE), protect: below(protect ?? PROTECTED) };
}

/** Refuses a path that cannot be changed, also if it leads to one through links. */
export async function requireUnprotected(
  { isProtected }: FileRules,
  files: WorkspaceFilesystem,
  path: string,
): Promise<void> {
  if (isProtected(normalize(path)) || isProtected(await pathWithoutLinks(files, path)))
    throw new PermissionError(
      path,
      "file tools cannot change protected files, such as those of Git and Selvedge.",
    );
}

/** One quick test for the last names of all patterns: searches ask for every file. */
async function anyName(patterns: readonly string[]): Promise<RegExp> {
  const { default: picomatch } = await import("picomatch");
  const names = patterns.map((one) => picomatch.makeRe(one.split("/").pop()!, { dot: true }).source);
  return new RegExp(names.join("|") || "(?!)");
}
