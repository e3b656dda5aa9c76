import { AgentError } from "@selvedge/core/errors";
import {
  type CommitResult,
  insert,
  InMemoryStorage,
  keysOf,
  MESSAGES,
  MESSAGE_STEPS,
  remove,
  requireNone,
  requireRow,
  RESOURCES,
  type Storage,
  update,
  type Write,
} from "@selvedge/core/storage";
import { expect } from "vitest";
import { Random } from "./simulator/random.ts";

const KEYS = ["a", "b", "c"] as const;
const LANES = 4;
const COMMITS_PER_LANE = 12;

/** A commit of a history: what it wrote, when it was asked for and answered, and what became of it. */
interface Entry {
  connection: number;
  keys: string[];
  writes: Write[];
  requestedAt: number;
  answeredAt: number;
  /** The position of the write whose condition failed, or what the commit gave. */
  outcome: { conflict: number } | { result: CommitResult };
}

export interface History {
  entries: Entry[];
  rows: unknown;
}

type Success = Entry & { outcome: { result: CommitResult } };
type Refusal = Entry & { outcome: { conflict: number } };

/** Lets several connections commit at random to few keys, and notes what they were told. */
export async function recordHistory(connections: readonly Storage[], seed: number): Promise<History> {
  const random = new Random(seed);
  const entries: Entry[] = [];
  let time = 0;
  let commits = 0;
  const lane = async (connection: number): Promise<void> => {
    for (let count = 0; count < COMMITS_PER_LANE; count++) {
      const writes = randomWrites(random, commits++);
      const requestedAt = time++;
      const outcome = await outcomeOf(connections[connection]!.commit(writes));
      entries.push({
        connection,
        keys: keysOf({ writes }),
        writes,
        requestedAt,
        answeredAt: time++,
        outcome,
      });
    }
  };
  await connections[0]!.commit(firstRows());
  await Promise.all(connections.flatMap((_, at) => Array.from({ length: LANES }, () => lane(at))));
  return { entries, rows: await allRows(connections[0]!) };
}

/**
 * The commits that took effect, one after another in the order of their keys' numbers on a store in memory, must give the
 * same answers and the same rows. Each that was refused must have been refused for a state its key was in between its
 * request and its answer.
 */
export async function checkHistory({ entries, rows }: History): Promise<void> {
  const successes = entries.filter((entry) => "result" in entry.outcome) as Success[];
  const refusals = entries.filter((entry) => "conflict" in entry.outcome) as Refusal[];
  const orders = new Map(KEYS.map((key) => [key as string, orderOf(key, successes)]));
  const store = new InMemoryStorage();
  await store.commit(firstRows());
  const places = new Map<string, number>(KEYS.map((key) => [key, 0]));
  let unexplained = refusals.map((refusal) => explainable(refusal, orders));
  const explain = async (): Promise<void> => {
    const left: typeof unexplained = [];
    for (const refusal of unexplained) if (!(await isExplained(store, refusal, places))) left.push(refusal);
    unexplained = left;
  };
  await explain();
  for (let left = successes.length; left > 0; left--) {
    const entry = nextOf(orders, places);
    expect(entry, "commits of several keys have no common order").toBeDefined();
    const { writes, keys, outcome } = entry!;
    const replayed = await outcomeOf(store.commit(writes));
    expect(changesOf(replayed), describe(entry!)).toEqual(outcome.result.changes);
    for (const key of keys) places.set(key, places.get(key)! + 1);
    await explain();
  }
  expect(
    unexplained.map(({ entry }) => describe(entry)),
    "refused without a reason",
  ).toEqual([]);
  expect(rows).toEqual(await allRows(store));
}

/** The commits of a key that took effect, by the numbers they got; which must fit what each process asked for and heard. */
function orderOf(key: string, successes: readonly Success[]): Success[] {
  const order = successes
    .filter(({ keys }) => keys.includes(key))
    .toSorted((a, b) => numberOf(a, key) - numberOf(b, key));
  for (const [at, later] of order.entries())
    for (const earlier of order.slice(0, at))
      expect(isBefore(later, earlier), `${describe(later)} got a number after ${describe(earlier)}`).toBe(
        false,
      );
  return order;
}

function numberOf({ writes, outcome }: Success, key: string): number {
  return outcome.result.auto[
    writes.findIndex(
      (write) => write.op === "insert" && write.row["thread_id"] === key && write.table.auto !== undefined,
    )
  ]!;
}

/** True when `a` must take effect first: it was answered before `b` was asked for, or one process asked for both in turn. */
function isBefore(a: Entry, b: Entry): boolean {
  return a.answeredAt < b.requestedAt || (a.connection === b.connection && a.requestedAt < b.requestedAt);
}

interface Explainable {
  entry: Refusal;
  /** The key whose state it was refused for, and how many commits of it may have been before. */
  key: string;
  from: number;
  to: number;
  /** Its writes about that key, up to the one that failed, and then one that always fails. */
  probe: Write[];
}

function explainable(entry: Refusal, orders: ReadonlyMap<string, Success[]>): Explainable {
  const { writes, outcome } = entry;
  const failed = writes.slice(0, outcome.conflict + 1);
  const [key] = keysOf({ writes: failed.slice(-1) });
  const order = orders.get(key!)!;
  const from = order.findLastIndex((other) => isBefore(other, entry)) + 1;
  const after = order.findIndex((other) => isBefore(entry, other));
  const probe = failed.filter((write) => keysOf({ writes: [write] }).includes(key!));
  return {
    entry,
    key: key!,
    from,
    to: after < 0 ? order.length : after,
    probe: [...probe, requireRow(RESOURCES, { id: "nobody" })],
  };
}

async function isExplained(
  store: Storage,
  { key, from, to, probe }: Explainable,
  places: ReadonlyMap<string, number>,
): Promise<boolean> {
  const place = places.get(key)!;
  if (place < from || place > to) return false;
  const outcome = await outcomeOf(store.commit(probe));
  return "conflict" in outcome && outcome.conflict === probe.length - 2;
}

/** A commit that is next among those of each of its keys. */
function nextOf(
  orders: ReadonlyMap<string, Success[]>,
  places: ReadonlyMap<string, number>,
): Success | undefined {
  const next = (key: string): Success | undefined => orders.get(key)![places.get(key)!];
  return KEYS.map(next).find((entry) => entry?.keys.every((key) => next(key) === entry));
}

function firstRows(): Write[] {
  return KEYS.map((id) => insert(RESOURCES, { id, version: 0 }));
}

/** Conditions and changes of the rows of one or two keys, and a row of each that gets a number. */
function randomWrites(random: Random, count: number): Write[] {
  const first = random.pick(KEYS);
  const keys = new Set(random.chance(0.3) ? [first, random.pick(KEYS)] : [first]);
  const writes: Write[] = [];
  for (const key of keys) {
    for (let left = random.between(1, 3); left > 0; left--) writes.push(randomWrite(random, key, count));
    const row = { id: `${key}-${count}`, thread_id: key, role: "user", content: {}, created_at: count };
    writes.splice(random.between(0, writes.length), 0, insert(MESSAGES, row));
  }
  return writes;
}

function randomWrite(random: Random, key: string, count: number): Write {
  const slot = { thread_id: key, message_id: key, step: random.between(0, 2) };
  const parts = [count];
  const isRequired = random.chance(0.3);
  return random.weighted<() => Write>([
    [2, () => requireRow(MESSAGE_STEPS, slot)],
    [2, () => requireNone(MESSAGE_STEPS, slot)],
    [2, () => insert(MESSAGE_STEPS, { ...slot, parts }, random.pick(["fail", "ignore", "update"]))],
    [2, () => update(MESSAGE_STEPS, { where: slot, set: { parts }, require: isRequired })],
    [2, () => remove(MESSAGE_STEPS, slot, { require: isRequired })],
    [1, () => remove(MESSAGE_STEPS, { thread_id: key }, { require: isRequired })],
    [2, () => update(RESOURCES, { where: { id: key }, increment: { version: 1 } })],
    [1, () => update(RESOURCES, { where: { id: key }, set: { version: 0 } })],
    [1, () => update(RESOURCES, { where: { id: key }, merge: { metadata: { [`k${count % 4}`]: count } } })],
    [1, () => requireRow(RESOURCES, { id: key, version: { lt: 3 } })],
    [1, () => requireRow(RESOURCES, { id: key, version: { gt: 0 } })],
  ])();
}

async function outcomeOf(commit: Promise<CommitResult>): Promise<Entry["outcome"]> {
  try {
    return { result: await commit };
  } catch (error) {
    if (!AgentError.is(error, "conflict")) throw error;
    return { conflict: Number(error.details?.["index"]) };
  }
}

function changesOf(outcome: Entry["outcome"]): unknown {
  return "result" in outcome ? outcome.result.changes : `refused at ${outcome.conflict}`;
}

/** Everything but the numbers, whose order is all that they promise. */
async function allRows(storage: Storage): Promise<unknown> {
  const messages = await storage.select({
    table: MESSAGES,
    orderBy: [{ column: "thread_id" }, { column: "seq" }],
    columns: ["thread_id", "id", "created_at"],
  });
  const steps = await storage.select({
    table: MESSAGE_STEPS,
    orderBy: [{ column: "message_id" }, { column: "step" }],
  });
  const resources = await storage.select({ table: RESOURCES, orderBy: [{ column: "id" }] });
  return { messages, steps, resources };
}

function describe({ connection, writes, requestedAt, answeredAt, outcome }: Entry): string {
  const words = writes.map(({ table, ...write }) => `${table.name} ${JSON.stringify(write)}`);
  return `connection ${connection}, ${requestedAt} to ${answeredAt}, ${JSON.stringify(changesOf(outcome))}:\n  ${words.join("\n  ")}`;
}
