import { AgentError } from "./agent-error.ts";
import { ERROR_CODES, type ErrorCode } from "./error-codes.ts";

/** The message of anything that was thrown, even after conversion to JSON. Never throws. */
export function errorMessage(thrown: unknown): string {
  if (typeof thrown === "string") return thrown;
  try {
    if (!(thrown instanceof Error) && !isErrorJson(thrown)) return showValue(thrown);
    const message: unknown = thrown.message;
    return typeof message === "string" ? message : showValue(message);
  } catch {
    return "An error whose message cannot be read.";
  }
}

/** The code of a tool's error: `tool-failed` for the tool's own. Undefined for a value that is not an error. */
export function toolErrorCode(thrown: unknown): ErrorCode | undefined {
  if (AgentError.is(thrown)) return thrown.code;
  if (thrown instanceof Error) return "tool-failed";
  if (!isErrorJson(thrown)) return undefined;
  const { name, code } = thrown;
  return name === "AgentError" && Object.hasOwn(ERROR_CODES, code as string)
    ? (code as ErrorCode)
    : "tool-failed";
}

const SHOWN_LENGTH = 300;

/** Any value as short text for a message. Never throws. */
export function showValue(value: unknown): string {
  let shown: string;
  try {
    // JSON has null for NaN and infinite numbers.
    shown = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? String(value));
  } catch {
    try {
      shown = Object.prototype.toString.call(value);
    } catch {
      shown = `an unreadable ${typeof value}`;
    }
  }
  return shown.length > SHOWN_LENGTH ? `${shown.slice(0, SHOWN_LENGTH)}…` : shown;
}

function isErrorJson(value: unknown): value is { name: string; message: string; code?: unknown } {
  try {
    const { name, message } = Object(value) as { name?: unknown; message?: unknown };
    return typeof name === "string" && typeof message === "string";
  } catch {
    return false;
  }
}
