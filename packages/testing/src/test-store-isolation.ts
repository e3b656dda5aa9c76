import {
  insert,
  MESSAGES,
  MESSAGE_STEPS,
  requireNone,
  requireRow,
  RESOURCES,
  type Storage,
  update,
  type Write,
} from "@selvedge/core/storage";
import { AgentError } from "@selvedge/core/errors";
import { expect } from "vitest";
import { checkHistory, recordHistory } from "./store-history.ts";
import type { StoreTest } from "./test-store.ts";

const ROUNDS = 200;

/** Several rows, so that others can get in between a condition and the end of its commit, and a message. */
const rows = (id: string, key: string): Write[] => [
  ...Array.from({ length: 8 }, (_, step) =>
    insert(MESSAGE_STEPS, { message_id: id, step, thread_id: key, parts: [] }),
  ),
  insert(MESSAGES, { id, thread_id: key, role: "user", content: {}, created_at: 0 }),
];

/** The number a commit got for its last write (or 0), or `undefined` when it was refused. Only a conflict is a refusal. */
async function numberOf(storage: Storage, writes: readonly Write[]): Promise<number | undefined> {
  try {
    const { auto } = await storage.commit(writes);
    return auto.at(-1) ?? 0;
  } catch (error) {
    if (AgentError.is(error, "conflict")) return undefined;
    throw error;
  }
}

async function accepts(storage: Storage, writes: readonly Write[]): Promise<boolean> {
  return (await numberOf(storage, writes)) !== undefined;
}

/** Races about a key each. A round says how often it broke the promise. */
async function countBroken(race: (key: string) => Promise<number>): Promise<number> {
  let broken = 0;
  for (let round = 0; round < ROUNDS; round++) broken += await race(`race-${round}`);
  return broken;
}

export function testIsolation(test: StoreTest): void {
  test("accepts nothing for a run that ends, and ends none for which something was accepted", async (_, harness) => {
    const [ending, ...sending] = await harness.connections(4);
    const broken = await countBroken(async (key) => {
      await ending!.commit([insert(RESOURCES, { id: key, version: 0 })]);
      const sends = sending.map((sender, at) =>
        accepts(sender, [requireRow(RESOURCES, { id: key, version: 0 }), ...rows(`${key}-${at}`, key)]),
      );
      const ended = accepts(ending!, [
        requireNone(MESSAGES, { thread_id: key }),
        ...rows(`${key}-end`, key),
        update(RESOURCES, { where: { id: key }, set: { version: 1 } }),
      ]);
      const accepted = (await Promise.all(sends)).filter(Boolean).length;
      return (await ended) ? accepted : 0;
    });
    expect(broken, "sends into a run that had ended").toBe(0);
  });

  test("carries out nothing under an old fence after a new one", async (_, harness) => {
    const [raising, ...holding] = await harness.connections(4);
    const broken = await countBroken(async (key) => {
      await raising!.commit([insert(RESOURCES, { id: key, version: 0 })]);
      const writes = holding.map((holder, at) =>
        numberOf(holder, [requireRow(RESOURCES, { id: key, version: 0 }), ...rows(`${key}-${at}`, key)]),
      );
      const raise = update(RESOURCES, { where: { id: key }, set: { version: 1 } });
      const raised = await numberOf(raising!, [raise, ...rows(`${key}-raised`, key)]);
      const visible = await raising!.select({ table: MESSAGES, where: { thread_id: key }, columns: ["seq"] });
      const numbers = new Set(visible.map(({ seq }) => seq));
      const isLate = (number: number): boolean => number > raised! || !numbers.has(number);
      return (await Promise.all(writes)).filter((number) => number !== undefined && isLate(number)).length;
    });
    expect(broken, "writes under an old fence").toBe(0);
  });

  test("accepts one of several inserts that require that there is none", async (_, harness) => {
    const all = await harness.connections(4);
    const broken = await countBroken(async (key) => {
      const inserts = all.map((connection, at) =>
        accepts(connection, [requireNone(MESSAGES, { thread_id: key }), ...rows(`${key}-${at}`, key)]),
      );
      return Math.abs((await Promise.all(inserts)).filter(Boolean).length - 1);
    });
    expect(broken, "inserts too many or too few").toBe(0);
  });

  test("never shows half of a commit", async (_, harness) => {
    const [first, second, third] = await harness.connections(3);
    const ids = ["a", "b"];
    await first!.commit(ids.map((id) => insert(RESOURCES, { id, version: 0 })));
    const move = (from: string, to: string): Write[] => [
      update(RESOURCES, { where: { id: from }, increment: { version: -1 } }),
      update(RESOURCES, { where: { id: to }, increment: { version: 1 } }),
    ];
    let isMoving = true;
    const moving = async (storage: Storage, [from, to]: [string, string]): Promise<void> => {
      for (let at = 0; at < 100; at++) await storage.commit(move(from, to));
    };
    const reading = async (storage: Storage): Promise<void> => {
      while (isMoving) {
        const rows = await storage.select({ table: RESOURCES, where: { id: { in: ids } } });
        expect(rows.reduce((sum, { version }) => sum + version, 0)).toBe(0);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const moves = Promise.all([moving(first!, ["a", "b"]), moving(second!, ["b", "a"])]).finally(() => {
      isMoving = false;
    });
    await Promise.all([moves, reading(third!), reading(first!)]);
  });

  for (const seed of [1, 2, 3]) {
    test(`gives what commits one after another give, in an order that fits (history ${seed})`, async (_, harness) => {
      await checkHistory(await recordHistory(await harness.connections(3), seed));
    });
  }
}
