import { AgentError, errorMessage } from "@selvedge/core/errors";

/** The connection was never made, so nothing was sent. */
const UNSENT: ReadonlySet<string> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);

const HINTS: Readonly<Record<string, string>> = {
  SQLITE_BUSY: "another client kept the database locked",
  SQLITE_READONLY: "the database only allows reads",
  SQLITE_TOOBIG: "a row is larger than the server accepts (5 MB unless its max_row_size is higher)",
  SQLITE_FULL: "the disk of the server is full",
  SQLITE_NOTADB: "the database of the server is damaged",
};

/** The server carried the request out, or refused it: its outcome is known. */
export function isFromServer(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code.startsWith("SQLITE_") || code === "TRANSACTION_CLOSED" || code === "URL_INVALID" || isRefusal(error)
  );
}

export function isBusy(error: unknown): boolean {
  const code = codeOf(error);
  // A transaction that the server ended, because it took too long, had no effect.
  return code.startsWith("SQLITE_BUSY") || code.startsWith("SQLITE_LOCKED") || code === "TRANSACTION_CLOSED";
}

export function isUnsent(error: unknown): boolean {
  return UNSENT.has(causeCode(error) ?? "");
}

/** The position of the statement that failed in a transaction. */
export function failedStatement(error: unknown): number | undefined {
  const cause = AgentError.is(error) ? error.cause : error;
  const index =
    cause instanceof Error ? (cause as Error & { statementIndex?: unknown }).statementIndex : undefined;
  return typeof index === "number" ? index : undefined;
}

/** Converts an error of the client to `storage-failed` with the cause. Our own errors pass unchanged. */
export function toServerError(place: string, error: unknown, wasOpen: boolean): AgentError {
  if (AgentError.is(error)) return error;
  return new AgentError("storage-failed", `Database ${place}: ${reasonOf(error, wasOpen)}`, { cause: error });
}

function reasonOf(error: unknown, wasOpen: boolean): string {
  const status = statusOf(error);
  const unsent = causeCode(error);
  if (status === 403)
    return `the token does not allow this (${errorMessage(error)}). Check authToken: it may only allow reads.`;
  if (status === 401 || codeOf(error).startsWith("AUTH_"))
    return `the server refused the token (${errorMessage(error)}). Check authToken.`;
  if (status === 404)
    return `the server has no database at this address (${errorMessage(error)}). Check url.`;
  if (unsent !== undefined && UNSENT.has(unsent))
    return `the server cannot be reached (${unsent}). Check url, and that the server is running.`;
  const hint = Object.entries(HINTS).find(([code]) => codeOf(error).startsWith(code))?.[1];
  if (hint !== undefined) return `${hint} (${errorMessage(error)})`;
  if (isFromServer(error)) return errorMessage(error);
  // Over WebSockets, this is all that a server says to a wrong token.
  if (!wasOpen) return `the server ended the connection (${errorMessage(error)}). Check url and authToken.`;
  return `the connection to the server was lost (${unsent ?? errorMessage(error)}). What was sent may have taken effect.`;
}

function isRefusal(error: unknown): boolean {
  const status = statusOf(error);
  return (status !== undefined && status >= 400 && status < 500) || codeOf(error).startsWith("AUTH_");
}

function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as Error & { code?: unknown }).code : undefined;
  return typeof code === "string" ? code : "";
}

function statusOf(error: unknown): number | undefined {
  const cause = error instanceof Error ? error.cause : undefined;
  const status = cause instanceof Error ? (cause as Error & { status?: unknown }).status : undefined;
  return typeof status === "number" ? status : undefined;
}

/** The code of the system error at the bottom. */
function causeCode(error: unknown): string | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code, errors } = at as Error & { code?: unknown; errors?: unknown };
    if (typeof code === "string" && /^E[A-Z_]+$/.test(code)) return code;
    if (Array.isArray(errors) && errors.length > 0) return causeCode(errors[0]);
    // Over WebSockets, only the message has it.
    const inMessage = /connect (E[A-Z]+)/.exec(at.message)?.[1];
    if (inMessage !== undefined) return inMessage;
  }
  return undefined;
}
