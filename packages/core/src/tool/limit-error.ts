import { AgentError, errorMessage, showValue } from "../errors.ts";
import { roughSize } from "../json.ts";

/** Shortens a tool's error for the model, the stream and the store. Short errors are returned unchanged. */
export function limitError(thrown: unknown, maxBytes: number): unknown {
  try {
    return limited(thrown, maxBytes);
  } catch {
    return new AgentError("tool-failed", "The tool threw a value that cannot be read.");
  }
}

function limited(thrown: unknown, maxBytes: number): unknown {
  if (!(thrown instanceof Error)) {
    if (roughSize(thrown, maxBytes) <= maxBytes) return thrown;
    return cut(typeof thrown === "string" ? thrown : showValue(thrown), maxBytes);
  }
  const message = errorMessage(thrown);
  if (message.length <= maxBytes) return thrown;
  if (AgentError.is(thrown)) return new AgentError(thrown.code, cut(message, maxBytes));
  const shorter = new Error(cut(message, maxBytes));
  shorter.name = String(thrown.name);
  return shorter;
}

function cut(text: string, maxBytes: number): string {
  return `${text.slice(0, maxBytes / 2).toWellFormed()}… (cut: longer than ${maxBytes} bytes, limits.toolErrorBytes)`;
}
