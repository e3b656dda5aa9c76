import { AgentError, type Logger } from "@selvedge/core";
import { toJson } from "@selvedge/core/guards";
import { UNEXPECTED_CODES } from "@selvedge/protocol";
import { isPrivate, safeError } from "./safe-errors.ts";
import { wireValue } from "./wire-value.ts";
import type { ErrorBody, OpenAIErrorBody } from "@selvedge/protocol/routes";

const HEADERS = {
  "content-type": "application/json; charset=utf-8",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

export function jsonResponse(value: unknown, status = 200): Response {
  return new Response(write(value ?? null), { status, headers: HEADERS });
}

/** The same for values of workflows, which JSON has no form for. */
export function richResponse(value: unknown): Response {
  return new Response(JSON.stringify(value ?? null, wireValue), { headers: HEADERS });
}

/**
 * An app or provider may put anything into a response. A value that cannot be serialised costs its field, not the
 * response.
 */
function write(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (typeof value !== "object" || value === null || Array.isArray(value)) throw error;
    const fields = Object.entries(value).map(([name, field]) => [name, toJson(field)] as const);
    return JSON.stringify(Object.fromEntries(fields));
  }
}

/** Converts any failure to an `AgentError` without private details; those are logged under a reference. */
export function toWireError(
  thrown: unknown,
  context: { what: string; inspects: boolean; logger: Logger; newId(): string },
): AgentError {
  const error = AgentError.is(thrown)
    ? thrown
    : new AgentError("internal", thrown instanceof Error ? thrown.message : String(thrown), {
        cause: thrown,
      });
  const { code, message } = error;
  const hidden = !context.inspects && isPrivate({ name: "AgentError", code, message });
  const reference = hidden ? `reference ${context.newId()}` : undefined;
  if (error.status >= 500) {
    // An error thrown on purpose says everything in its message; its origin is in the stack.
    const stack = UNEXPECTED_CODES.has(error.code) ? [thrown] : [];
    const about = reference ? ` (${reference})` : "";
    context.logger.error(`${context.what} failed${about}: ${error.message}`, ...stack);
  }
  if (!hidden) return error;
  return new AgentError(error.code, safeError(error, reference as string).message);
}

export function errorResponse(error: AgentError): Response {
  const body: ErrorBody = { error: error.message, ...error.toJSON() };
  return jsonResponse(body, error.status);
}

/** The same in the form OpenAI's clients expect. */
export function openAiErrorResponse({ message, code, status }: AgentError): Response {
  const type = status >= 500 ? "server_error" : "invalid_request_error";
  const body: OpenAIErrorBody = { error: { message, type, code, param: null } };
  return jsonResponse(body, status);
}
