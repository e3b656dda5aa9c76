import { globber } from "./globber.ts";

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

/** Tests paths against the patterns of secret and protected files. */
export async function fileRules(
  sensitive: readonly string[] = SENSITIVE,
  protect: readonly string[] = PROTECTED,
): Promise<FileRules> {
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

/** One quick test for the last names of all patterns: searches ask for every file. */
async function anyName(patterns: readonly string[]): Promise<RegExp> {
  const { default: picomatch } = await import("picomatch");
  const names = patterns.map((one) => picomatch.makeRe(one.split("/").pop()!, { dot: true }).source);
  return new RegExp(names.join("|") || "(?!)");
}
