import { AgentError, errorMessage } from "@selvedge/core/errors";

// SQLite's result codes. The driver names only some of the extended ones; the low byte is always the basic code.
const BUSY = 5;
const LOCKED = 6;
const READ_ONLY = 8;
const UNIQUE_VIOLATIONS: ReadonlySet<number> = new Set([1555, 2067, 2579]);

const HINTS: Readonly<Record<number, string>> = {
  [BUSY]: "another process kept the file locked",
  [LOCKED]: "another connection kept a table locked",
  [READ_ONLY]: "the file or its folder is read-only",
  10: "reading or writing the file failed",
  11: "the file is damaged",
  13: "the disk is full",
  14: "the file cannot be opened",
  26: "the file is not a database",
};

export function isBusy(error: unknown): boolean {
  const code = resultCode(error) & 0xff;
  return code === BUSY || code === LOCKED;
}

/** For the database's error, or that error as a `storage-failed`. */
export function isReadOnly(error: unknown): boolean {
  const thrown = AgentError.is(error) ? error.cause : error;
  return (resultCode(thrown) & 0xff) === READ_ONLY;
}

export function isUniqueViolation(error: unknown): boolean {
  return UNIQUE_VIOLATIONS.has(resultCode(error));
}

/** Converts the database's error to `storage-failed` with the cause. Our own errors pass unchanged. */
export function toStorageError(path: string, error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  const hint = HINTS[resultCode(error) & 0xff];
  const reason = hint === undefined ? errorMessage(error) : `${hint} (${errorMessage(error)})`;
  return new AgentError("storage-failed", `Database ${path}: ${reason}`, { cause: error });
}

function resultCode(error: unknown): number {
  const code = error instanceof Error ? (error as Error & { rawCode?: unknown }).rawCode : undefined;
  return typeof code === "number" ? code : 0;
}
