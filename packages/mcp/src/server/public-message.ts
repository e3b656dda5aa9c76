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
 * Returns the error message a client may see. Over HTTP that is only the message of an `AgentError`: any other error
 * may contain an address or a password, and the caller may be anyone. A caller that the verifier or host marks as
 * trusted (`extra.inspect`) and the parent process also see other errors thrown on purpose. Everything else (a bug, a
 * failed system call, a store's message) is logged under a reference, and the client receives the reference.
 */
export function publicMessage(
  subject: string,
  thrown: unknown,
  { logger, newId, isParent }: { logger: Logger; newId(): string; isParent: boolean },
  authInfo: AuthInfo | undefined,
): string {
  const inspects = isParent || authInfo?.extra?.["inspect"] === true;
  if (inspects ? isPublic(thrown) : isOurs(thrown))
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
