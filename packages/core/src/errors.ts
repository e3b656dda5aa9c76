import { AgentError, type ErrorCode, UNEXPECTED_CODES } from "@selvedge/protocol";

export { AgentError, UNEXPECTED_CODES };

/** What a store threw, in our words. */
export function storageError(thrown: unknown): AgentError {
  if (AgentError.is(thrown)) return thrown;
  return new AgentError("storage-failed", `The store failed: ${errorMessage(thrown)}`, { cause: thrown });
}

/** The message of anything that was thrown. */
export function errorMessage(thrown: unknown): string {
  if (thrown instanceof Error) return thrown.message;
  return typeof thrown === "string" ? thrown : showValue(thrown);
}

/** The code of what a tool threw: its own errors are `tool-failed`. None for a value that is no error. */
export function toolErrorCode(thrown: unknown): ErrorCode | undefined {
  if (AgentError.is(thrown)) return thrown.code;
  return thrown instanceof Error ? "tool-failed" : undefined;
}

const SHOWN_LENGTH = 300;

/** Any value as short text for a message. Never throws, whatever the value is. */
export function showValue(value: unknown): string {
  let shown: string;
  try {
    shown = JSON.stringify(value) ?? String(value);
  } catch {
    shown = Object.prototype.toString.call(value);
  }
  return shown.length > SHOWN_LENGTH ? `${shown.slice(0, SHOWN_LENGTH)}…` : shown;
}
