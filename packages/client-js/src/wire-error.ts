import { AgentError, ERROR_CODES, type ErrorCode, isObject } from "@selvedge/protocol";

const SHOWN_LENGTH = 300;

/** Rebuilds the error a server sent. A response from a proxy in between becomes one of ours. */
export async function errorFromResponse(response: Response): Promise<AgentError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  const body = parse(text);
  if (isObject(body)) {
    const message = typeof body["message"] === "string" ? body["message"] : body["error"];
    if (typeof message === "string") return errorFromWire({ ...body, message }, status);
  }
  const said = text.slice(0, SHOWN_LENGTH).trim();
  return new AgentError(
    codeOfStatus(status),
    `The server responded with ${status}${said === "" ? "." : `: ${said}`}`,
    { details: { status } },
  );
}

/** Reads the error in an `error` chunk or response. A code this version does not know is in `details.code`. */
export function errorFromWire(body: unknown, status = 500): AgentError {
  if (AgentError.is(body)) return body;
  const { code, message, details } = (isObject(body) ? body : { message: body }) as {
    code?: unknown;
    message?: unknown;
    details?: unknown;
  };
  const known = typeof code === "string" && Object.hasOwn(ERROR_CODES, code);
  const more = {
    ...(isObject(details) && details),
    ...(!known && { status, ...(code !== undefined && { code }) }),
  };
  return new AgentError(
    known ? (code as ErrorCode) : codeOfStatus(status),
    typeof message === "string" ? message : "The server sent an error without a message.",
    Object.keys(more).length > 0 ? { details: more } : {},
  );
}

/** A request without a response, or with an interrupted response. */
export function connectionError(what: string, cause: unknown): AgentError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new AgentError("connection-failed", `${what}: ${reason}`, { cause });
}

function codeOfStatus(status: number): ErrorCode {
  if (status === 404) return "not-found";
  if (status === 409) return "conflict";
  if (status === 413) return "limit-exceeded";
  if (status === 501) return "not-supported";
  if (status === 408 || status === 425 || status === 429) return "connection-failed";
  if (status === 502 || status === 503 || status === 504) return "connection-failed";
  return status >= 400 && status < 500 ? "invalid-argument" : "internal";
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
