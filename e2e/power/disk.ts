import { readFileSync } from "node:fs";

type Change =
  | { kind: "write"; offset: number; data: Buffer }
  | { kind: "truncate"; size: number }
  | { kind: "remove" };

interface Entry {
  path: string;
  change: Change | "sync";
}

const SECTOR = 512;

/** All that was done to the files of a folder, in order. */
export class Disk {
  readonly #entries: Entry[] = [];

  constructor(log: string) {
    const bytes = readFileSync(log);
    const names = new Map<number, string>();
    for (let at = 0; at + 17 <= bytes.length;) {
      const kind = String.fromCharCode(bytes[at]!);
      const file = bytes.readUInt32LE(at + 1);
      const offset = Number(bytes.readBigUInt64LE(at + 5));
      const length = bytes.readUInt32LE(at + 13);
      const data = bytes.subarray(at + 17, at + 17 + length);
      at += 17 + length;
      if (kind === "N") names.set(file, data.toString());
      else this.#entries.push({ path: names.get(file)!, change: toChange(kind, offset, data) });
    }
  }

  /** How many moments there are at which the power can fail. */
  get length(): number {
    return this.#entries.length;
  }

  /** A file as it was written up to a moment, flushed or not: what the world outside has seen. */
  seen(path: string, moment: number): Buffer {
    return apply(this.#changes(path, moment).map(({ change }) => change)) ?? Buffer.alloc(0);
  }

  /**
   * A file as it may be found when the power failed at a moment: with all that was flushed, and of the rest whatever the
   * disk happened to have written, whole or torn. `undefined` when it is not there.
   */
  survived(path: string, moment: number, random: () => number): Buffer | undefined {
    const changes = this.#changes(path, moment);
    const kept: Change[] = [];
    for (const { change, flushed } of changes) {
      // Names in a folder are taken to be written at once.
      if (flushed || change.kind === "remove") kept.push(change);
      else if (random() < 0.5) kept.push(random() < 0.3 ? torn(change, random) : change);
    }
    return apply(kept);
  }

  #changes(path: string, moment: number): { change: Change; flushed: boolean }[] {
    const changes: { change: Change; flushed: boolean }[] = [];
    for (const entry of this.#entries.slice(0, moment)) {
      if (entry.path !== path) continue;
      if (entry.change === "sync") for (const before of changes) before.flushed = true;
      else changes.push({ change: entry.change, flushed: false });
    }
    return changes;
  }
}

function toChange(kind: string, offset: number, data: Buffer): Change | "sync" {
  if (kind === "W") return { kind: "write", offset, data };
  if (kind === "T") return { kind: "truncate", size: offset };
  if (kind === "R") return { kind: "remove" };
  if (kind === "S") return "sync";
  throw new Error(`The record has a change of kind ${JSON.stringify(kind)}`);
}

function torn(change: Change, random: () => number): Change {
  if (change.kind !== "write") return change;
  const sectors = Math.ceil(change.data.length / SECTOR);
  return { ...change, data: change.data.subarray(0, Math.floor(random() * sectors) * SECTOR) };
}

function apply(changes: readonly Change[]): Buffer | undefined {
  let content: Buffer | undefined;
  let size = 0;
  for (const change of changes) {
    if (change.kind === "remove") {
      content = undefined;
      continue;
    }
    if (!content) [content, size] = [Buffer.alloc(1 << 16), 0];
    const end = change.kind === "write" ? change.offset + change.data.length : change.size;
    if (end > content.length) content = Buffer.concat([content, Buffer.alloc(end * 2 - content.length)]);
    if (change.kind === "write") change.data.copy(content, change.offset);
    else if (end < size) content.fill(0, end, size);
    size = change.kind === "write" ? Math.max(size, end) : end;
  }
  return content?.subarray(0, size);
}
