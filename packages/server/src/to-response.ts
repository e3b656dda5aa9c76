import { AgentError, type Logger } from "@selvedge/core";
import type { ErrorBody } from "@selvedge/protocol/routes";

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** What may stand in their messages is for the app's log, not for its users. */
const PRIVATE: ReadonlySet<string> = new Set(["internal", "storage-failed", "storage-closed"]);

export function jsonResponse(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value ?? null), { status, headers: HEADERS });
}

/** Any failure as an error of ours, without what is not for the caller. */
export function toWireError(thrown: unknown, context: { trusted: boolean; logger: Logger }): AgentError {
  const error = AgentError.is(thrown)
    ? thrown
    : new AgentError("internal", thrown instanceof Error ? thrown.message : String(thrown), {
        cause: thrown,
      });
  if (error.status >= 500) context.logger.error(`A request failed: ${error.message}`, thrown);
  if (context.trusted || !PRIVATE.has(error.code)) return error;
  return new AgentError(
    error.code,
    error.code === "internal" ? "The server failed." : "The store is not available.",
  );
}

export function errorResponse(error: AgentError): Response {
  const body: ErrorBody = { error: error.message, ...error.toJSON() };
  return jsonResponse(body, error.status);
}

/** The same in the form that OpenAI's clients read. */
export function openAiErrorResponse({ message, code, status }: AgentError): Response {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  return jsonResponse({ error: { message, type, code, param: null } }, status);
}
