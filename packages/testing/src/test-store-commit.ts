import { AgentError } from "@selvedge/core/errors";
import {
  type CommitResult,
  MESSAGES,
  MESSAGE_STEPS,
  RESOURCES,
  type Row,
  type RowOf,
  type Storage,
  type Table,
  TABLES,
  THREADS,
  type Write,
} from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const insert = (row: Row, onConflict?: "fail" | "ignore" | "update"): Write => ({
  op: "insert",
  table: RESOURCES,
  row,
  ...(onConflict && { onConflict }),
});

const message = (id: string, more: Row = {}): Row => ({
  id,
  thread_id: "t",
  role: "user",
  content: { format: 2, parts: [] },
  created_at: 0,
  ...more,
});

async function read(storage: Storage, id: string): Promise<RowOf<typeof RESOURCES> | undefined> {
  const [row] = await storage.select({ table: RESOURCES, where: { id } });
  return row;
}

async function conflictAt(commit: Promise<unknown>): Promise<unknown> {
  const error = await commit.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toMatchObject({ code: "conflict" });
  return AgentError.is(error) ? error.details?.index : undefined;
}

export function testCommit(test: StoreTest): void {
  test("inserts, and says how many rows each write touched", async (storage) => {
    const result = await storage.commit([
      insert({ id: "a", version: 1 }),
      insert({ id: "b", version: 1 }),
      { op: "update", table: RESOURCES, where: { version: 1 }, set: { version: 2 } },
      { op: "delete", table: RESOURCES, where: { id: "a" } },
      { op: "require", table: RESOURCES, where: { id: "b" }, exists: true },
      { op: "delete", table: RESOURCES, where: { id: "nope" } },
    ]);
    expect(result.changes).toEqual([1, 1, 2, 1, 0, 0]);
    expect(await read(storage, "a")).toBeUndefined();
    expect(await read(storage, "b")).toMatchObject({ version: 2 });
  });

  test("takes an empty commit for done", async (storage) => {
    expect(await storage.commit([])).toEqual({ changes: [], auto: [] });
  });

  test("refuses, ignores or updates a row that is there, as asked", async (storage) => {
    await storage.commit([insert({ id: "a", version: 1, working_memory: "old", metadata: { k: 1 } })]);
    expect(await conflictAt(storage.commit([insert({ id: "b" }), insert({ id: "a" })]))).toBe(1);
    expect(await conflictAt(storage.commit([insert({ id: "a" }, "fail")]))).toBe(0);
    expect(await storage.commit([insert({ id: "a", version: 9 }, "ignore")])).toMatchObject({ changes: [0] });
    expect(await read(storage, "a")).toMatchObject({ version: 1 });
    expect(await storage.commit([insert({ id: "a", version: 2, metadata: null }, "update")])).toMatchObject({
      changes: [1],
    });
    expect(await read(storage, "a")).toMatchObject({ version: 2, working_memory: "old", metadata: null });
    expect(await read(storage, "b")).toBeUndefined();
  });

  test("identifies rows by all columns of the key", async (storage) => {
    const step = (row: Row, onConflict: "fail" | "update" = "fail"): Write => ({
      op: "insert",
      table: MESSAGE_STEPS,
      row: { thread_id: "t", parts: [], ...row },
      onConflict,
    });
    await storage.commit([
      step({ message_id: "m", step: 2, parts: ["two"] }),
      step({ message_id: "m", step: 1 }),
      step({ message_id: "n", step: 1 }),
      step({ message_id: "m", step: 1, parts: ["one"] }, "update"),
    ]);
    expect(await conflictAt(storage.commit([step({ message_id: "n", step: 1 })]))).toBe(0);
    const rows = await storage.select({
      table: MESSAGE_STEPS,
      where: { message_id: "m" },
      orderBy: [{ column: "step" }],
    });
    expect(rows.map((row) => row.parts)).toEqual([["one"], ["two"]]);
  });

  test("makes each write see those before it", async (storage) => {
    await storage.commit([insert({ id: "a", version: 1 })]);
    await storage.commit([
      { op: "delete", table: RESOURCES, where: { id: "a" }, require: true },
      { op: "require", table: RESOURCES, where: { id: "a" }, exists: false },
      insert({ id: "a", version: 2 }),
      { op: "update", table: RESOURCES, where: { id: "a", version: 2 }, set: { version: 3 }, require: true },
    ]);
    expect(await read(storage, "a")).toMatchObject({ version: 3 });
  });

  test("applies a conditional write only while its condition holds", async (storage) => {
    await storage.commit([insert({ id: "a", version: 1 })]);
    const step = (from: number): Promise<unknown> =>
      storage.commit([
        {
          op: "update",
          table: RESOURCES,
          where: { id: "a", version: from },
          set: { version: from + 1 },
          require: true,
        },
      ]);
    await step(1);
    expect(await conflictAt(step(1))).toBe(0);
    const gone: Write = { op: "delete", table: RESOURCES, where: { id: "a", version: 1 }, require: true };
    expect(await conflictAt(storage.commit([gone]))).toBe(0);
    expect(await read(storage, "a")).toMatchObject({ version: 2 });
  });

  test("inserts one row under conditions on other tables, and says which does not hold", async (storage) => {
    await storage.commit([insert({ id: "a", version: 1 })]);
    const events = TABLES.find(({ name }) => name === "selvedge_events") as Table;
    const add = (first: number, version: number, thread: string): Promise<CommitResult> =>
      storage.commit([
        { op: "require", table: RESOURCES, where: { id: "a", version }, exists: true },
        { op: "require", table: MESSAGES, where: { thread_id: thread }, exists: false },
        { op: "insert", table: events, row: { thread_id: "t", first, last: first, chunks: [] } },
      ]);
    await storage.commit([{ op: "insert", table: MESSAGES, row: message("m", { thread_id: "busy" }) }]);
    expect((await add(1, 1, "free")).changes).toEqual([0, 0, 1]);
    expect(await conflictAt(add(2, 2, "free"))).toBe(0);
    expect(await conflictAt(add(2, 1, "busy"))).toBe(1);
    expect(await conflictAt(add(1, 1, "free"))).toBe(2);
    expect((await storage.select({ table: events })).map(({ first }) => first)).toEqual([1]);
  });

  test("applies nothing when any write fails, at any place", async (storage) => {
    await storage.commit([insert({ id: "keep", version: 1, metadata: { a: 1 } })]);
    const good: Write[] = [
      insert({ id: "new", version: 1 }),
      insert({ id: "keep", version: 5 }, "update"),
      {
        op: "update",
        table: RESOURCES,
        where: { id: "keep" },
        merge: { metadata: { b: 2 } },
        increment: { version: 1 },
      },
      { op: "insert", table: MESSAGES, row: message("m1") },
      { op: "insert", table: THREADS, row: { id: "t", resource_id: "r", created_at: 0, updated_at: 0 } },
      { op: "delete", table: RESOURCES, where: { id: "keep" } },
    ];
    const bad: Write[] = [
      { op: "require", table: RESOURCES, where: { id: "missing" }, exists: true },
      { op: "require", table: MESSAGE_STEPS, where: {}, exists: true },
      { op: "update", table: RESOURCES, where: { id: "missing" }, set: { version: 1 }, require: true },
      { op: "delete", table: RESOURCES, where: { id: "missing" }, require: true },
    ];
    const before = await storage.select({ table: RESOURCES });
    for (const failing of bad) {
      for (let at = 0; at <= good.length; at++) {
        expect(await conflictAt(storage.commit(good.toSpliced(at, 0, failing)))).toBe(at);
        expect(await storage.select({ table: RESOURCES })).toEqual(before);
        expect(await storage.count({ table: MESSAGES })).toBe(0);
        expect(await storage.count({ table: THREADS })).toBe(0);
      }
    }
  });

  test("refuses bad rows and leaves nothing of the commit", async (storage) => {
    const circular: Record<string, unknown> = {};
    circular.self = circular;
    const bad: unknown[] = [
      { id: "x", nope: 1 },
      { version: 1 },
      { id: null },
      { id: 7 },
      { id: true },
      { id: "x", version: "1" },
      { id: "x", version: 0.5 },
      { id: "x", version: Number.NaN },
      { id: "x", version: 2 ** 60 },
      { id: "x", version: true },
      { id: "x", working_memory: "a\0b" },
      { id: "x", working_memory: "half \uD83D" },
      { id: "x", working_memory: { a: 1 } },
      { id: "x", metadata: circular },
      { id: "x", metadata: { n: 1n } },
      { id: "x", metadata: () => 1 },
    ];
    for (const row of bad) {
      const commit = storage.commit([insert({ id: "good" }), insert(row as Row)]);
      await expect(commit, Object.keys(row as Row).join()).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    expect(await storage.count({ table: RESOURCES })).toBe(0);
  });

  test("lets exactly one of 100 conflicting commits win", async (storage) => {
    await storage.commit([insert({ id: "lock", version: 0 })]);
    const attempts = Array.from({ length: 100 }, (_, index) =>
      storage.commit([
        {
          op: "update",
          table: RESOURCES,
          where: { id: "lock", version: 0 },
          set: { version: index + 1 },
          require: true,
        },
        insert({ id: `winner-${index}` }),
      ]),
    );
    const results = await Promise.allSettled(attempts);
    const won = results.flatMap((result, index) => (result.status === "fulfilled" ? [index] : []));
    expect(won).toHaveLength(1);
    expect(await read(storage, "lock")).toMatchObject({ version: won[0]! + 1 });
    expect(await storage.count({ table: RESOURCES })).toBe(2);
  });

  test("lets exactly one of 100 first inserts win", async (storage) => {
    const attempts = Array.from({ length: 100 }, (_, version) =>
      storage.commit([insert({ id: "once", version })]),
    );
    const results = await Promise.allSettled(attempts);
    expect(results.filter((result) => result.status === "fulfilled")).toHaveLength(1);
  });

  test("counts every one of 100 increments at once", async (storage) => {
    await storage.commit([insert({ id: "n" })]);
    const add: Write = { op: "update", table: RESOURCES, where: { id: "n" }, increment: { version: 2 } };
    await Promise.all(Array.from({ length: 100 }, () => storage.commit([add])));
    expect(await read(storage, "n")).toMatchObject({ version: 200 });
  });

  test("applies commits in the order they were asked for, awaited or not", async (storage) => {
    const commits = Array.from({ length: 50 }, (_, index) =>
      storage.commit([{ op: "insert", table: MESSAGES, row: message(`m${index}`) }]),
    );
    const numbers = (await Promise.all(commits)).map((result) => result.auto[0]!);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(new Set(numbers).size).toBe(50);
  });

  test("merges a json column by key: others stay, null and undefined delete", async (storage) => {
    await storage.commit([
      insert({ id: "a", metadata: { keep: { x: 1 }, swap: { x: 1 }, drop: 1, gone: 2 } }),
    ]);
    const merge = { metadata: { swap: { y: 2 }, drop: null, gone: undefined, 'new "key"': [1] } };
    const { changes } = await storage.commit([{ op: "update", table: RESOURCES, where: { id: "a" }, merge }]);
    expect(changes).toEqual([1]);
    expect((await read(storage, "a"))!.metadata).toEqual({
      keep: { x: 1 },
      swap: { y: 2 },
      'new "key"': [1],
    });
    await storage.commit([insert({ id: "b" })]);
    await storage.commit([{ op: "update", table: RESOURCES, where: {}, merge: { metadata: { all: true } } }]);
    expect((await read(storage, "b"))!.metadata).toEqual({ all: true });
    expect((await read(storage, "a"))!.metadata).toMatchObject({ all: true, keep: { x: 1 } });
  });

  test("keeps all of 50 merges of different keys at once", async (storage) => {
    await storage.commit([insert({ id: "a", metadata: {} })]);
    await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        storage.commit([
          {
            op: "update",
            table: RESOURCES,
            where: { id: "a" },
            merge: { metadata: { [`k${index}`]: index } },
          },
        ]),
      ),
    );
    expect(Object.keys((await read(storage, "a"))!.metadata as object)).toHaveLength(50);
  });

  test("sets, merges and increments in one update, requiring a row", async (storage) => {
    await storage.commit([insert({ id: "a", version: 3 })]);
    const write = (id: string): Write => ({
      op: "update",
      table: RESOURCES,
      where: { id, version: 3 },
      set: { working_memory: "set" },
      merge: { metadata: { k: "v" } },
      increment: { version: 1 },
      require: true,
    });
    await storage.commit([write("a")]);
    expect(await read(storage, "a")).toMatchObject({
      working_memory: "set",
      metadata: { k: "v" },
      version: 4,
    });
    expect(await conflictAt(storage.commit([write("b")]))).toBe(0);
  });

  test("counts the rows of an update that sets nothing, and leaves them as they are", async (storage) => {
    await storage.commit([insert({ id: "a", version: 3 })]);
    const set = { version: undefined };
    const update = (id: string, require: boolean): Write => ({
      op: "update",
      table: RESOURCES,
      where: { id },
      set,
      require,
    });
    expect(await storage.commit([update("a", true), update("b", false)])).toMatchObject({ changes: [1, 0] });
    expect(await conflictAt(storage.commit([update("a", true), update("b", true)]))).toBe(1);
    expect(await read(storage, "a")).toMatchObject({ version: 3 });
  });

  test("keeps every character of json through merges and searches", async (storage) => {
    const metadata = { nul: "a\0b", "k\0": 1, "\uF8FF0": "\uF8FF0", plain: "\\u0000", drop: "\0" };
    await storage.commit([insert({ id: "a", metadata })]);
    const merge = { metadata: { drop: null, "k\0": 2, "\uF8FF": "\uF8FF", more: ["\0"] } };
    await storage.commit([{ op: "update", table: RESOURCES, where: { id: "a" }, merge }]);
    const { drop: _, ...kept } = metadata;
    expect((await read(storage, "a"))!.metadata).toEqual({
      ...kept,
      "k\0": 2,
      "\uF8FF": "\uF8FF",
      more: ["\0"],
    });
    for (const has of [{ nul: "a\0b" }, { "k\0": 2 }, { "\uF8FF0": "\uF8FF0" }, { plain: "\\u0000" }])
      expect(
        await storage.count({ table: RESOURCES, where: { metadata: { has } } }),
        JSON.stringify(has),
      ).toBe(1);
    for (const has of [{ nul: "a\uF8FF0b" }, { plain: "\0" }, { drop: "\0" }])
      expect(
        await storage.count({ table: RESOURCES, where: { metadata: { has } } }),
        JSON.stringify(has),
      ).toBe(0);
  });

  test("treats keys of the prototype as plain keys", async (storage) => {
    const metadata = JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}');
    await storage.commit([insert({ id: "a", metadata })]);
    await storage.commit([{ op: "update", table: RESOURCES, where: { id: "a" }, merge: { metadata } }]);
    const row = await read(storage, "a");
    expect(JSON.stringify(row!.metadata)).toBe('{"__proto__":{"polluted":true},"constructor":1}');
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  test("makes half surrogate pairs in json whole characters", async (storage) => {
    await storage.commit([insert({ id: "a", metadata: { "k\uD800": ["x\uDC00y", "\\ud800"] } })]);
    expect((await read(storage, "a"))!.metadata).toEqual({ "k\uFFFD": ["x\uFFFDy", "\\ud800"] });
  });

  test("numbers rows upwards and keeps the number of a row that is updated", async (storage) => {
    const put = (id: string, onConflict: "fail" | "ignore" | "update"): Write => ({
      op: "insert",
      table: MESSAGES,
      row: message(id),
      onConflict,
    });
    const { auto } = await storage.commit([put("a", "fail"), put("b", "update"), put("c", "ignore")]);
    expect(auto).toEqual([auto[0]!, expect.any(Number), expect.any(Number)]);
    expect(auto[1]! > auto[0]! && auto[2]! > auto[1]!).toBe(true);
    const again = await storage.commit([put("a", "update"), put("b", "ignore"), put("d", "update")]);
    expect(again.auto[0]).toBe(auto[0]);
    expect(again.auto[1]).toBeUndefined();
    expect(again.auto[2]!).toBeGreaterThan(auto[2]!);
  });

  test("never gives a number twice, not even that of a deleted row", async (storage) => {
    const first = await storage.commit([{ op: "insert", table: MESSAGES, row: message("a") }]);
    await storage.commit([{ op: "delete", table: MESSAGES, where: { id: "a" } }]);
    const second = await storage.commit([{ op: "insert", table: MESSAGES, row: message("a") }]);
    expect(second.auto[0]!).toBeGreaterThan(first.auto[0]!);
    await expect(
      storage.commit([{ op: "insert", table: MESSAGES, row: message("b", { seq: 1 }) }]),
    ).rejects.toMatchObject({ code: "invalid-argument" });
  });

  test("goes on after a failed commit", async (storage) => {
    await storage.commit([insert({ id: "a" })]);
    await expect(storage.commit([insert({ id: "a" })])).rejects.toMatchObject({ code: "conflict" });
    await storage.commit([insert({ id: "b" })]);
    expect(await storage.count({ table: RESOURCES })).toBe(2);
  });

  test("finishes commits under way when it is closed, and refuses later calls", async (storage, harness) => {
    const underWay = storage.commit([insert({ id: "a" })]);
    const closing = storage.close();
    await expect(underWay).resolves.toMatchObject({ changes: [1] });
    await closing;
    await storage.close();
    const refused = { code: "storage-closed" };
    await expect(storage.commit([insert({ id: "b" })])).rejects.toMatchObject(refused);
    await expect(storage.select({ table: RESOURCES })).rejects.toMatchObject(refused);
    await expect(storage.count({ table: RESOURCES })).rejects.toMatchObject(refused);
    if (!harness.reopen) return;
    const reopened = await harness.reopen();
    expect(await read(reopened, "a")).toMatchObject({ id: "a" });
    await reopened.close();
  });
}
