import { AgentError } from "@selvedge/core/errors";
import { codePointFloor, Graphemes } from "./graphemes.ts";

type Key = string | number;

/** A value small enough for a chunk, with its path. */
interface Unit {
  path: Key[];
  text: string;
}

const DEEPEST = 500;

/**
 * Splits a JSON value into JSON values of at most `size` characters. Each keeps the path from the root to its contents,
 * so it can be read alone. Values that fit stay whole and neighbours share a chunk; a string that is too long continues
 * in the next chunk under the same path.
 */
export function jsonChunks(
  value: unknown,
  { size, convertLists, ensureAscii }: { size: number; convertLists: boolean; ensureAscii: boolean },
): string[] {
  const write = (part: unknown): string => {
    const text = JSON.stringify(part);
    return ensureAscii ? text.replaceAll(/[\u0080-\uffff]/g, (sign) => `\\u${hex(sign)}`) : text;
  };
  const keyText = (key: Key): string => (typeof key === "number" ? "" : `${write(key)}:`);
  const units: Unit[] = [];

  /** Makes a unit of a value that fits; otherwise visits its parts. `wrapping` is the size of its path. */
  const visit = (part: unknown, path: Key[], wrapping: number): void => {
    if (path.length > DEEPEST)
      throw new AgentError("limit-exceeded", `JSON is nested deeper than ${DEEPEST} levels`);
    const room = size - wrapping;
    const text = writeWithin(part, room);
    if (text !== undefined) units.push({ path, text });
    else if (typeof part === "string") {
      for (const piece of stringPieces(part, room, path, write)) units.push({ path, text: write(piece) });
    } else if (typeof part === "object" && part !== null) {
      const isList = Array.isArray(part) && !convertLists;
      for (const [name, child] of Object.entries(part)) {
        const key = isList ? Number(name) : name;
        visit(child, [...path, key], wrapping + 2 + keyText(key).length);
      }
    } else throw tooSmall(size, path);
  };
  const writeWithin = (part: unknown, room: number): string | undefined => {
    // A small value is serialised once per oversized ancestor; whole documents are never serialised.
    if (room < 1 || !isLighterThan(part, room)) return undefined;
    const text = write(convertLists ? withoutLists(part) : part);
    return text.length <= room ? text : undefined;
  };

  visit(value, [], 0);
  return joinUnits(units, size, keyText);
}

/** A cheap lower bound of the serialised length. Stops once it exceeds the limit. */
function isLighterThan(part: unknown, limit: number): boolean {
  let left = limit;
  const pending: unknown[] = [part];
  while (pending.length > 0 && left >= 0) {
    const next = pending.pop();
    if (typeof next === "string") left -= next.length + 2;
    else if (typeof next !== "object" || next === null) left -= 1;
    else {
      const values = Object.values(next);
      left -= 2 + Math.max(0, values.length - 1);
      if (left >= 0) for (const item of values) pending.push(item);
    }
  }
  return left >= 0;
}

/** Packs consecutive units into as few values as possible. */
function joinUnits(units: Unit[], size: number, keyText: (key: Key) => string): string[] {
  const chunks: string[] = [];
  let text = "";
  let open: readonly Key[] = [];
  /** From the key at a level, inside the value that is open there, down to the unit's path. */
  const enter = (path: readonly Key[], level: number): string =>
    path
      .slice(level)
      .map((key, index) => (index > 0 ? OPENING[typeof key as "string"] : "") + keyText(key))
      .join("");
  const close = (level: number): string =>
    open
      .slice(level)
      .reverse()
      .map((key) => CLOSING[typeof key as "string"])
      .join("");
  for (const { path, text: value } of units) {
    const shared = sharedDepth(open, path);
    // The same path again means a continued string, which needs a separate value.
    const joins = text !== "" && shared < path.length;
    const added = joins ? `${close(shared + 1)},${enter(path, shared)}${value}` : "";
    if (joins && text.length + added.length + path.length <= size) text += added;
    else {
      if (text !== "") chunks.push(text + close(0));
      text = (path.length > 0 ? OPENING[typeof path[0] as "string"] : "") + enter(path, 0) + value;
    }
    open = path;
  }
  chunks.push(text + close(0));
  return chunks;
}

const OPENING = { string: "{", number: "[" };
const CLOSING = { string: "}", number: "]" };

function sharedDepth(a: readonly Key[], b: readonly Key[]): number {
  let depth = 0;
  while (depth < a.length && depth < b.length && a[depth] === b[depth]) depth++;
  return depth;
}

/** Splits a string so that each piece, serialised, takes at most `room`. */
function* stringPieces(
  text: string,
  room: number,
  path: Key[],
  write: (part: string) => string,
): Generator<string> {
  const graphemes = new Graphemes(text);
  for (let start = 0; start < text.length;) {
    let end = Math.min(text.length, start + Math.max(room, 0));
    for (;;) {
      const border = graphemes.floor(start, end);
      end = border > start ? border : codePointFloor(text, end);
      if (end <= start) throw tooSmall(room, path);
      const over = write(text.slice(start, end)).length - room;
      if (over <= 0) break;
      // A character takes at most six when serialised.
      end -= Math.ceil(over / 6);
    }
    yield text.slice(start, end);
    start = end;
  }
}

function withoutLists(part: unknown): unknown {
  if (typeof part !== "object" || part === null) return part;
  const entries = Object.entries(part).map(([key, value]) => [key, withoutLists(value)] as const);
  return Object.fromEntries(entries);
}

function hex(sign: string): string {
  return sign.charCodeAt(0).toString(16).padStart(4, "0");
}

function tooSmall(size: number, path: Key[]): AgentError {
  const where = path.length > 0 ? ` at ${path.join(".")}` : "";
  return new AgentError(
    "invalid-argument",
    `The size of a chunk leaves ${size} characters, too few for the JSON value${where}; choose a larger size`,
  );
}
