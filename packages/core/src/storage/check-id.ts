import { AgentError, showValue } from "../errors.ts";

const MAX_ID_BYTES = 256;
const CONTROL = /\p{Cc}/u;
const REFUSED_KEYS: ReadonlySet<string> = new Set(["__proto__", "constructor", "prototype"]);

/**
 * Validates an external id: a non-empty string of at most 256 bytes, without control characters and lone surrogates.
 */
export function checkId(name: string, value: unknown): string {
  if (typeof value !== "string" || value === "") {
    throw new AgentError("invalid-argument", `${name} must be a non-empty string, got ${show(value)}`);
  }
  // A UTF-16 unit takes at most three bytes, so short ids need no counting.
  if (value.length * 3 > MAX_ID_BYTES && new TextEncoder().encode(value).length > MAX_ID_BYTES) {
    throw new AgentError("invalid-argument", `${name} is longer than ${MAX_ID_BYTES} bytes: ${show(value)}`);
  }
  if (CONTROL.test(value) || !value.isWellFormed()) {
    throw new AgentError(
      "invalid-argument",
      `${name} contains a control character or half a surrogate pair: ${show(value)}`,
    );
  }
  return value;
}

/** Validates external metadata: a plain object whose keys cannot be mistaken for parts of an object's prototype. */
export function checkMetadata(name: string, value: unknown): Record<string, unknown> {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new AgentError("invalid-argument", `${name} must be an object, got ${show(value)}`);
  }
  for (const key of Object.keys(value)) {
    if (REFUSED_KEYS.has(key)) {
      throw new AgentError("invalid-argument", `${name} must not have the key ${show(key)}`);
    }
  }
  return value as Record<string, unknown>;
}

/** Text for a text column: whole characters only, without NUL, where databases truncate text. */
export function cleanText(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}

function show(value: unknown): string {
  const text = showValue(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}
