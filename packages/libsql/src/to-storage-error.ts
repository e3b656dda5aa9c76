import { AgentError, errorMessage } from "@selvedge/core/errors";

const HINTS: Readonly<Record<string, string>> = {
  SQLITE_FULL: "the disk is full",
  SQLITE_READONLY: "the file or its folder is read-only",
  SQLITE_NOTADB: "the file is not a database",
  SQLITE_CORRUPT: "the file is damaged",
  SQLITE_CANTOPEN: "the file cannot be opened",
  SQLITE_IOERR: "reading or writing the file failed",
  SQLITE_BUSY: "another process kept the file locked",
};

export function isBusy(error: unknown): boolean {
  return /^SQLITE_(BUSY|LOCKED)/.test(codeOf(error));
}

export function isUniqueViolation(error: unknown): boolean {
  return /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY|ROWID)$/.test(codeOf(error));
}

/** What the database threw, as `storage-failed` with the cause. Errors of our own pass as they are. */
export function toStorageError(path: string, error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  const code = codeOf(error);
  const hint = Object.entries(HINTS).find(([prefix]) => code.startsWith(prefix))?.[1];
  return new AgentError(
    "storage-failed",
    `Database ${path}: ${hint ? `${hint} (${errorMessage(error)})` : errorMessage(error)}`,
    { cause: error },
  );
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}
