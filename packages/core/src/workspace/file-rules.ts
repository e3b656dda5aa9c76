import { globber } from "./grep-files.ts";

export interface FileRules {
  /** Files whose content is only shown after approval. */
  isSensitive(path: string): boolean;
  /** Files that the tools cannot change. */
  isProtected(path: string): boolean;
}

const SENSITIVE = [".env", ".env.*", "*.pem", "*.key", "id_rsa", "id_ed25519", ".npmrc", ".netrc"];
const NOT_SENSITIVE = [".env.example"];
const PROTECTED = ["**/.git/**", "**/.git", "**/.selvedge/**", "**/.selvedge"];

/** Tests paths against the patterns of secret and protected files. */
export async function fileRules(
  sensitive: readonly string[] = SENSITIVE,
  protect: readonly string[] = PROTECTED,
): Promise<FileRules> {
  const [isSecret, isExample, isProtected] = await Promise.all([
    globber(sensitive, true),
    globber(NOT_SENSITIVE, true),
    globber(protect, true),
  ]);
  return { isSensitive: (path) => isSecret(path) && !isExample(path), isProtected };
}
