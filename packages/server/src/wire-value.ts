/**
 * A replacer for `JSON.stringify` that keeps what a workflow can store and JSON has no form for: bigints as text, maps
 * and sets as lists, bytes in base64, errors as objects. Dates and URLs become text by themselves.
 */
export function wireValue(_key: string, value: unknown): unknown {
  if (typeof value === "bigint") return String(value);
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Map || value instanceof Set) return [...(value as Iterable<unknown>)];
  if (value instanceof Uint8Array) return Buffer.from(value).toString("base64");
  if (value instanceof Error) return errorToWire(value);
  return value;
}

interface WireError {
  name: string;
  message: string;
  code?: string;
  details?: unknown;
}

/** An error without its stack and cause. */
function errorToWire(error: Error & { code?: unknown; details?: unknown }): WireError {
  const { name, message, code, details } = error;
  return {
    name,
    message,
    ...(typeof code === "string" && { code }),
    ...(details !== undefined && { details }),
  };
}
