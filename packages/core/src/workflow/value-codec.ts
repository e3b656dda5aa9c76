import type { JSONValue } from "@selvedge/protocol";
import { AgentError, showValue } from "../errors.ts";

/** Marks a value that JSON has no form for: `{ "$": "date", "value": … }`. */
const TAG = "$";
const MAX_DEPTH = 200;

/**
 * A value as JSON: plain data, `undefined`, dates, maps, sets, URLs, bigints, bytes and errors. Throws for anything else,
 * and names its place. Plain data is returned as it is, not copied.
 */
export function encodeValue(value: unknown, place: string): JSONValue {
  return encode(value, { place, parents: [] });
}

/** A value for a json column, where `null` means that there is none. */
export function toCell(value: unknown, place: string): JSONValue {
  return value === null ? { [TAG]: "null" } : encodeValue(value, place);
}

export function fromCell(cell: unknown): unknown {
  return cell === null ? undefined : decodeValue(cell);
}

export function decodeValue(json: unknown): unknown {
  if (typeof json !== "object" || json === null) return json;
  if (Array.isArray(json)) {
    let copy: unknown[] | undefined;
    for (let index = 0; index < json.length; index++) {
      const item = decodeValue(json[index]);
      if (item !== json[index]) (copy ??= json.slice())[index] = item;
    }
    return copy ?? json;
  }
  if (Object.hasOwn(json, TAG)) return decodeTagged(json as unknown as Tagged);
  let copy: Record<string, unknown> | undefined;
  for (const key of Object.keys(json)) {
    const before = (json as Record<string, unknown>)[key];
    const item = decodeValue(before);
    if (item !== before) define((copy ??= { ...json }), key, item);
  }
  return copy ?? json;
}

interface Tagged {
  [TAG]: string;
  value: any;
}

interface Position {
  place: string;
  parents: object[];
}

function tagged(kind: string, value: JSONValue): JSONValue {
  return { [TAG]: kind, value };
}

function encode(value: unknown, at: Position): JSONValue {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      if (Object.is(value, -0)) return tagged("number", "-0");
      return Number.isFinite(value) ? value : tagged("number", String(value));
    case "undefined":
      return { [TAG]: "undefined" };
    case "bigint":
      return tagged("bigint", String(value));
    case "object":
      return value === null ? null : encodeObject(value, at);
    default:
      throw refused(at.place, value);
  }
}

function encodeObject(value: object, at: Position): JSONValue {
  if (at.parents.includes(value))
    throw new AgentError("invalid-argument", `${at.place} cannot be stored: it contains itself.`);
  if (at.parents.length >= MAX_DEPTH)
    throw new AgentError("invalid-argument", `${at.place} cannot be stored: it is nested too deeply.`);
  at.parents.push(value);
  const encoded = Array.isArray(value) ? encodeList(value, at) : encodeOther(value, at);
  at.parents.pop();
  return encoded;
}

function encodeOther(value: object, at: Position): JSONValue {
  const prototype: unknown = Object.getPrototypeOf(value);
  // A plain object, also of another realm.
  if (prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null)
    return encodeRecord(value as Record<string, unknown>, at);
  if (value instanceof Date) return tagged("date", Number.isNaN(value.getTime()) ? null : value.getTime());
  if (value instanceof Map) return tagged("map", encodeList(Array.from(value as Map<unknown, unknown>), at));
  if (value instanceof Set) return tagged("set", encodeList(Array.from(value as Set<unknown>), at));
  if (value instanceof URL) return tagged("url", value.href);
  if (value instanceof Uint8Array) return tagged("bytes", base64(value));
  if (value instanceof ArrayBuffer) return tagged("buffer", base64(new Uint8Array(value)));
  if (value instanceof Error) return tagged("error", encodeError(value, at));
  throw refused(at.place, value);
}

function encodeList(list: readonly unknown[], at: Position): JSONValue[] {
  const { place } = at;
  let copy: JSONValue[] | undefined;
  for (let index = 0; index < list.length; index++) {
    const item = list[index];
    if (typeof item === "string" || typeof item === "boolean" || item === null) continue;
    at.place = `${place}[${index}]`;
    const encoded = encode(item, at);
    if (encoded !== item) (copy ??= list.slice() as JSONValue[])[index] = encoded;
  }
  at.place = place;
  return copy ?? (list as JSONValue[]);
}

function encodeRecord(record: Record<string, unknown>, at: Position): JSONValue {
  const { place } = at;
  let copy: Record<string, JSONValue> | undefined;
  for (const key of Object.keys(record)) {
    const item = record[key];
    if (typeof item === "string" || typeof item === "boolean" || item === null) continue;
    at.place = `${place}.${key}`;
    const encoded = encode(item, at);
    if (encoded !== item) define((copy ??= { ...(record as Record<string, JSONValue>) }), key, encoded);
  }
  at.place = place;
  const result = copy ?? (record as Record<string, JSONValue>);
  // An object of the app that looks like one of ours.
  return Object.hasOwn(result, TAG) ? tagged("object", Object.entries(result)) : result;
}

/**
 * Errors keep what says what went wrong. Details that cannot be stored are left out, and so is what else the app or a
 * client put on them: that may be secret, such as the headers of a request.
 */
function encodeError(error: Error, at: Position): JSONValue {
  const { name, message, stack, cause } = error;
  const { code, details, errors } = error as Error & { code?: unknown; details?: unknown; errors?: unknown };
  const parts: Record<string, JSONValue> = { name: String(name), message: String(message) };
  if (typeof stack === "string") parts["stack"] = stack;
  if (typeof code === "string" || typeof code === "number") parts["code"] = code;
  const more = { details, cause, errors: error instanceof AggregateError ? errors : undefined };
  for (const [key, part] of Object.entries(more)) {
    if (part === undefined) continue;
    try {
      parts[key] = encode(part, { place: at.place, parents: [...at.parents] });
    } catch {
      parts[key] = showValue(part);
    }
  }
  return parts;
}

function decodeTagged({ [TAG]: kind, value }: Tagged): unknown {
  switch (kind) {
    case "undefined":
      return undefined;
    case "null":
      return null;
    case "number":
      return Number(value);
    case "bigint":
      return BigInt(value as string);
    case "date":
      return new Date((value as number | null) ?? Number.NaN);
    case "map":
      return new Map(decodeValue(value) as [unknown, unknown][]);
    case "set":
      return new Set(decodeValue(value) as unknown[]);
    case "url":
      return new URL(value as string);
    case "bytes":
      return Uint8Array.from(Buffer.from(value as string, "base64"));
    case "buffer":
      return Uint8Array.from(Buffer.from(value as string, "base64")).buffer;
    case "error":
      return decodeError(value as Record<string, unknown>);
    default: {
      const object: Record<string, unknown> = {};
      for (const [key, item] of value as [string, unknown][]) define(object, key, decodeValue(item));
      return object;
    }
  }
}

function decodeError(parts: Record<string, unknown>): Error {
  const { name, message, stack, code, details } = parts;
  const error = emptyError(parts, String(message));
  if (name !== "AgentError") {
    if (error.name !== name)
      Object.defineProperty(error, "name", { value: name, configurable: true, writable: true });
    if (code !== undefined) Object.assign(error, { code });
    if (details !== undefined) Object.assign(error, { details: decodeValue(details) });
  }
  if (typeof stack === "string") error.stack = stack;
  return error;
}

function emptyError(parts: Record<string, unknown>, message: string): Error {
  const { name, code, details, cause, errors } = parts;
  const options = cause === undefined ? undefined : { cause: decodeValue(cause) };
  if (name === "AgentError")
    return new AgentError(code as never, message, {
      ...options,
      ...(details !== undefined && { details: decodeValue(details) as Record<string, unknown> }),
    });
  if (Array.isArray(errors)) return new AggregateError(decodeValue(errors) as unknown[], message, options);
  return new (BUILT_IN.get(name) ?? Error)(message, options);
}

/** Errors of the language are of their own class again. */
const BUILT_IN: ReadonlyMap<unknown, new (message: string, options?: ErrorOptions) => Error> = new Map(
  [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError].map((type) => [type.name, type]),
);

/** Sets a key that may be `__proto__`. */
function define(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key === "__proto__")
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  else object[key] = value;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

function refused(place: string, value: unknown): AgentError {
  const what =
    typeof value === "function"
      ? "a function"
      : typeof value === "symbol"
        ? "a symbol"
        : `an instance of ${(value as object).constructor?.name || "a class"}`;
  return new AgentError(
    "invalid-argument",
    `${place} cannot be stored: it is ${what}. Use plain data, Date, Map, Set, URL, bigint, Uint8Array or Error.`,
    { details: { path: place } },
  );
}
