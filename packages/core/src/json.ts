import type { JSONValue } from "@selvedge/protocol";

/** How much of a value is described that JSON has no form for. */
const MAX_DEPTH = 20;
const MAX_ITEMS = 1000;
const MAX_TEXT = 10_000;

/**
 * The value as it is when it has been JSON, cut off from the original. Never throws: where JSON has no form for it, in
 * a cycle or a BigInt or a property that throws, that place is described. `undefined` stays.
 */
export function toJson(value: unknown): JSONValue | undefined {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value;
    case "number":
      return Number.isFinite(value) ? value : null;
    case "object":
      if (value === null) return null;
  }
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return JSON.parse(text) as JSONValue;
  } catch {
    // Described below.
  }
  return describe(value, { items: 0, parents: [] });
}

/**
 * About how many bytes a value takes as JSON. Stops counting above `enough`, so it costs little whatever the value is.
 * A value that cannot be read counts as nothing.
 */
export function roughSize(value: unknown, enough: number): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return PRIMITIVE_BYTES;
  const objects: object[] = [value];
  // Remembering what was counted costs more than counting, so it begins where there may be a cycle.
  let seen: Set<object> | undefined;
  let size = 0;
  for (let next = 0; next < objects.length && size <= enough; next++) {
    if (next === MAX_ITEMS) seen = new Set(objects);
    const object = objects[next]!;
    if (ArrayBuffer.isView(object)) {
      size += object.byteLength;
      continue;
    }
    const found = objects.length;
    try {
      size += Array.isArray(object) ? listSize(object, objects, enough) : recordSize(object, objects, enough);
    } catch {
      // Whoever makes it JSON finds out.
    }
    if (!seen) continue;
    for (const item of objects.splice(found)) {
      if (seen.has(item)) continue;
      seen.add(item);
      objects.push(item);
    }
  }
  return size;
}

function listSize(list: readonly unknown[], objects: object[], enough: number): number {
  let size = 0;
  for (const item of list) {
    size += itemSize(item, objects);
    if (size > enough) break;
  }
  return size;
}

function recordSize(record: object, objects: object[], enough: number): number {
  let size = 0;
  // Makes no list of the keys. Those that a prototype adds are few.
  for (const key in record) {
    size += key.length + itemSize((record as Record<string, unknown>)[key], objects);
    if (size > enough) break;
  }
  return size;
}

/** Objects are put on the list, for later. */
function itemSize(item: unknown, objects: object[]): number {
  if (typeof item === "string") return PRIMITIVE_BYTES + item.length;
  if (typeof item === "object" && item !== null) objects.push(item);
  return PRIMITIVE_BYTES;
}

const PRIMITIVE_BYTES = 4;

interface Description {
  items: number;
  parents: object[];
}

function describe(value: unknown, so: Description): JSONValue {
  if (typeof value === "string")
    return value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…`.toWellFormed() : value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value === "function") return "[function]";
  if (typeof value !== "object") return String(value as bigint | symbol | undefined);
  if (so.parents.includes(value)) return "[circular]";
  if (so.parents.length >= MAX_DEPTH || ++so.items > MAX_ITEMS) return "[cut]";
  so.parents.push(value);
  try {
    return value instanceof Error ? describeError(value) : describeItems(value, so);
  } catch {
    return "[unreadable]";
  } finally {
    so.parents.pop();
  }
}

function describeError({ name, message }: Error): JSONValue {
  return { name: String(name), message: String(message).slice(0, MAX_TEXT).toWellFormed() };
}

function describeItems(value: object, so: Description): JSONValue {
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return Array.from(value.slice(0, MAX_ITEMS), (item) => describe(item, so));
  const entries: [string, JSONValue][] = [];
  for (const key of Object.keys(value).slice(0, MAX_ITEMS)) {
    const item = read(value, key);
    if (item !== undefined && typeof item !== "function" && typeof item !== "symbol")
      entries.push([key, describe(item, so)]);
  }
  return Object.fromEntries(entries);
}

function read(value: object, key: string): unknown {
  try {
    return (value as Record<string, unknown>)[key];
  } catch {
    return "[unreadable]";
  }
}
