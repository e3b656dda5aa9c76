import { AgentError, errorMessage } from "@selvedge/core/errors";

const HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "nothing is listening there",
  ENOTFOUND: "there is no such host",
  ETIMEDOUT: "it did not respond in time",
  "28P01": "the password was refused",
  "28000": "the user was refused",
  "3D000": "there is no such database",
  "42501": "the user lacks the permission",
  "53100": "the disk is full",
  "53300": "it has too many connections",
  "57014": "the statement took too long",
};

/** Converts the driver's error to `storage-failed` with the cause. Our own errors pass unchanged. */
export function toPgError(error: unknown): AgentError {
  if (AgentError.is(error)) return error;
  const code = codeOf(error);
  const hint = HINTS[code];
  const reason = hint === undefined ? errorMessage(error) : `${hint} (${errorMessage(error)})`;
  return new AgentError("storage-failed", `PostgreSQL: ${reason}`, { cause: error });
}

/** Conflicts that vanish on retry: serialization, deadlock, a table created concurrently. */
export function isTransient(error: unknown): boolean {
  return ["40001", "40P01", "23505", "42P07"].includes(codeOf(error));
}

export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}
