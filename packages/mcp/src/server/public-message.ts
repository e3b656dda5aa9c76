import { AgentError, type Logger } from "@selvedge/core";
import { UNEXPECTED_CODES } from "@selvedge/core/errors";
import { type AuthInfo, ProtocolError } from "@modelcontextprotocol/server";

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
 * failed system call, a store's words) is logged under a number, and only the number is told. Where callers are told apart,
 * many are strangers: to them only an `AgentError` is on purpose, as any `Error` may have a password in it, unless the
 * verifier or the host says that they may look inside (`extra.inspect`).
 */
export function publicMessage(
  subject: string,
  thrown: unknown,
  { logger, newId }: { logger: Logger; newId(): string },
  authInfo: AuthInfo | undefined,
): string {
  const isStranger = authInfo !== undefined && authInfo.extra?.["inspect"] !== true;
  if (isStranger ? isOurs(thrown) : isPublic(thrown))
    return thrown instanceof Error ? thrown.message : String(thrown);
  const reference = newId();
  logger.error(`${subject} failed (reference ${reference})`, thrown);
  return `${subject} failed for an internal reason (reference ${reference}).`;
}

function isOurs(thrown: unknown): boolean {
  return AgentError.is(thrown) ? !UNEXPECTED_CODES.has(thrown.code) : ProtocolError.isInstance(thrown);
}

function isPublic(thrown: unknown): boolean {
  if (typeof thrown === "string") return true;
  if (AgentError.is(thrown) || ProtocolError.isInstance(thrown)) return isOurs(thrown);
  if (!(thrown instanceof Error) || BUGS.has(thrown.name)) return false;
  return !("syscall" in thrown || "errno" in thrown || "sql" in thrown);
}
