import { AgentError, type Logger } from "@selvedge/core";
import { UNEXPECTED_CODES } from "@selvedge/core/errors";
import { ProtocolError } from "@modelcontextprotocol/server";

const BUGS = new Set([
  "TypeError",
  "ReferenceError",
  "RangeError",
  "SyntaxError",
  "EvalError",
  "AssertionError",
]);

/**
 * What a client may read about a failure. What was thrown on purpose is told; what reveals our insides (a bug, a
 * failed system call, a store's words) is logged under a number, and only the number is told.
 */
export function publicMessage(
  subject: string,
  thrown: unknown,
  { logger, newId }: { logger: Logger; newId(): string },
): string {
  if (isPublic(thrown)) return thrown instanceof Error ? thrown.message : String(thrown);
  const reference = newId();
  logger.error(`${subject} failed (reference ${reference})`, thrown);
  return `${subject} failed for an internal reason (reference ${reference}).`;
}

function isPublic(thrown: unknown): boolean {
  if (typeof thrown === "string") return true;
  if (AgentError.is(thrown)) return !UNEXPECTED_CODES.has(thrown.code);
  if (ProtocolError.isInstance(thrown)) return true;
  if (!(thrown instanceof Error) || BUGS.has(thrown.name)) return false;
  return !("syscall" in thrown || "errno" in thrown || "sql" in thrown);
}
