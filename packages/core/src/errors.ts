import { AgentError, type ErrorCode, UNEXPECTED_CODES } from "@selvedge/protocol";

export { AgentError, UNEXPECTED_CODES };

/** What a store threw, in our words. */
export function storageError(thrown: unknown): AgentError {
  if (AgentError.is(thrown)) return thrown;
  return new AgentError("storage-failed", `The store failed: ${errorMessage(thrown)}`, { cause: thrown });
}

/** The message of anything that was thrown. Never throws itself. */
export function errorMessage(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  if (!(thrown instanceof Error)) return showValue(thrown);
  try {
    const message: unknown = thrown.message;
    return typeof message === "string" ? message : showValue(message);
  } catch {
    return "An error whose message cannot be read.";
  }
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
    try {
      shown = Object.prototype.toString.call(value);
    } catch {
      shown = `an unreadable ${typeof value}`;
    }
  }
  return shown.length > SHOWN_LENGTH ? `${shown.slice(0, SHOWN_LENGTH)}…` : shown;
}
