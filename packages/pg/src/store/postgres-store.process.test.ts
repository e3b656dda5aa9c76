// @module-tag long

import {
  type Change,
  type Commit,
  insert,
  MESSAGES,
  realSystem,
  remove,
  requireRow,
  RESOURCES,
  SCHEMA_VERSION,
  Storage,
  type Table,
  TABLES,
} from "@selvedge/core/storage";
import { findBroken, type StoreHarness, testStore } from "@selvedge/testing/suites";
import pg from "pg";
import { afterAll, describe, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../__fixtures__/embedded-server.ts";
import { PostgresDriver } from "./postgres-driver.ts";
import { PostgresStore } from "./postgres-store.ts";
import type { Statement } from "./sql.ts";
import { type PostgresStoreOptions, toSettings } from "./store-options.ts";

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: the store on PostgreSQL: ${found.missing}`);
const { connectionString, stop } = found as PostgresServer;

let schemas = 0;

function harness(open: (schemaName: string) => Storage): () => Promise<StoreHarness> {
  return async () => {
    const schemaName = `t${schemas++}`;
    const storage = open(schemaName);
    return {
      storage,
      reopen: async () => open(schemaName),
      connect: async () => open(schemaName),
      close: () => storage.close(),
    };
  };
}

const withOptions =
  (options: PostgresStoreOptions = {}) =>
  (schemaName: string): Storage =>
    new PostgresStore({ connectionString, schemaName, ...options });

const withDriver =
  (Driver: typeof PostgresDriver) =>
  (schemaName: string): Storage =>
    new Storage(new Driver(toSettings({ connectionString, schemaName }), realSystem), { id: "planted" });

class WithoutLock extends PostgresDriver {
  protected override statements(_: readonly string[], writes: readonly Statement[]): Statement[] {
    return [...writes];
  }
}

class WithLockInTheSameStatement extends PostgresDriver {
  protected override statements(keys: readonly string[], writes: readonly Statement[]): Statement[] {
    return writes.map(({ text, values = [] }) => {
      const lock = `(SELECT count(*) FROM (SELECT pg_advisory_xact_lock(hashtextextended(key, 0))
        FROM unnest($${values.length + 1}::text[]) AS key OFFSET 0) AS locks) > 0`;
      const locking = text.replace("selvedge_require(", `selvedge_require(${lock} AND `);
      return locking === text ? { text, values } : { text: locking, values: [...values, keys] };
    });
  }
}

class WithNumbersInBlocks extends PostgresDriver {
  readonly #schema: string;

  constructor(...[settings, system]: ConstructorParameters<typeof PostgresDriver>) {
    super(settings, system);
    this.#schema = settings.schema;
  }

  override async migrate(tables: readonly Table[]): Promise<void> {
    await super.migrate(tables);
    const client = new pg.Client({ connectionString });
    await client.connect();
    for (const { name, auto } of tables)
      if (auto !== undefined)
        await client.query(`ALTER SEQUENCE "${this.#schema}"."${name}_${auto}_seq" CACHE 20`);
    await client.end();
  }
}

describe.skipIf("missing" in found)("PostgreSQL", () => {
  afterAll(() => stop());

  testStore("PostgresStore", harness(withOptions()));

  const RACES = [
    "accepts nothing for a run that ends, and ends none for which something was accepted",
    "carries out nothing under an old fence after a new one",
    "accepts one of several inserts that require that there is none",
  ];

  const RULES = [
    ...RACES,
    "applies nothing when any write fails, at any place",
    "leaves no trace of a commit that was refused, so that it can be sent again",
    "gives each of several commits its own outcome",
    "reports which keys another connection changed, or that it cannot tell",
  ];

  it("keeps the rules of commits without pipelines and prepared statements, as behind a pooler", async () => {
    const options = { pipeline: false, prepare: false, listenConnectionString: connectionString };
    const rules = RULES.slice(1);
    expect(await findBroken(harness(withOptions(options)), (title) => rules.includes(title))).toEqual([]);
  });

  it("keeps the rules of commits in a pool of the caller that several stores share, and leaves it open", async () => {
    const pool = new pg.Pool({ connectionString, pipeline: true });
    pool.on("error", () => {});
    const open = (schemaName: string): Storage => new PostgresStore({ pool, schemaName });
    expect(await findBroken(harness(open), (title) => RULES.includes(title))).toEqual([]);
    expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
    await pool.end();
  });

  it("stores nothing if a transaction cannot begin, and leaves connections of the caller as they were", async () => {
    let begins = true;
    const pool = new pg.Pool({ connectionString, pipeline: true, max: 1 });
    pool.on("connect", (client) => {
      const query = client.query.bind(client) as (...args: unknown[]) => Promise<unknown>;
      // As if someone cancelled this statement.
      const failing = (first: string | { text: string }, ...rest: unknown[]): Promise<unknown> => {
        const isBegin = typeof first === "object" && first.text.startsWith("BEGIN");
        return isBegin && !begins ? query({ ...first, text: "SELECT 1 / 0" }) : query(first, ...rest);
      };
      Object.assign(client, { query: failing });
    });
    const store = new PostgresStore({ pool, schemaName: `t${schemas++}` });
    await store.init();
    begins = false;
    const writes = ["a", "b"].map((id) => insert(RESOURCES, { id }));
    await expect(store.commit(writes)).rejects.toMatchObject({ code: "storage-failed" });
    begins = true;
    expect(await store.count({ table: RESOURCES })).toBe(0);
    await store.commit(writes);
    expect(await store.count({ table: RESOURCES })).toBe(2);
    await store.close();
    const { rows } = await pool.query("SHOW default_transaction_read_only");
    expect(rows).toEqual([{ default_transaction_read_only: "off" }]);
    await pool.end();
  });

  it("stores the chunks of many threads together, and each has its own outcome", async () => {
    const store = withOptions()(`t${schemas++}`);
    await store.init();
    const [runs, events] = ["runs", "events"].map((name) =>
      TABLES.find((one) => one.name === `selvedge_${name}`)!,
    );
    const threads = Array.from({ length: 64 }, (_, index) => `thread "${index}"`);
    await store.commit(threads.map((id) => insert(runs as Table, { id, thread_id: id, fence: 1 })));
    const flush = (id: string, fence: number): Commit => ({
      id: `${id} ${fence}`,
      writes: [
        requireRow(runs as Table, { id, fence }),
        insert(events as Table, {
          thread_id: id,
          first: fence,
          last: 1,
          chunks: [`"{\\ \0 ${id}`],
          created_at: 0,
        }),
      ],
    });
    const outcomes = await store.commitAll(threads.map((id) => flush(id, 1)));
    expect(outcomes).toEqual(
      threads.map(() => ({ result: { changes: [0, 1], auto: [undefined, undefined] } })),
    );
    const stored = await store.select({ table: events as Table });
    expect(new Set(stored.map((row) => (row["chunks"] as string[])[0]))).toEqual(
      new Set(threads.map((id) => `"{\\ \0 ${id}`)),
    );
    // One of them has lost its thread: the others are stored all the same.
    const mixed = await store.commitAll(
      threads
        .map((id, index) => flush(id, index === 5 ? 3 : 1))
        .map((one, index) => ({ ...one, id: `again ${index}`, writes: [one.writes[0]!] })),
    );
    expect(
      mixed.flatMap((outcome, index) =>
        "error" in outcome ? [[index, (outcome.error as { code: string }).code]] : [],
      ),
    ).toEqual([[5, "conflict"]]);
    await store.close();
  });

  it("never shows one schema what another contains", async () => {
    const [one, other] = [withOptions()(`t${schemas++}`), withOptions()(`t${schemas++}`)];
    await Promise.all([one.init(), other.init()]);
    const changes: Change[] = [];
    one.watch((change) => changes.push(change));
    await expect.poll(() => changes).toEqual(["unknown"]);
    const write = insert(RESOURCES, { id: "same", version: 1 });
    await other.commit([write], { id: "same" });
    expect(await one.select({ table: RESOURCES })).toEqual([]);
    await one.commit([write], { id: "same" });
    await other.commit([remove(RESOURCES, { id: "same" })]);
    expect(await one.count({ table: RESOURCES })).toBe(1);
    expect(changes).toEqual(["unknown"]);
    await Promise.all([one.close(), other.close()]);
  });

  it.each(["x".repeat(63), "ä".repeat(31), `${"ä".repeat(26)}x`])(
    "reports changes in a schema with the long name %s",
    async (schemaName) => {
      const [one, other] = [withOptions()(schemaName), withOptions()(schemaName)];
      await one.init();
      const changes: Change[] = [];
      one.watch((change) => changes.push(change));
      await expect.poll(() => changes).toEqual(["unknown"]);
      await other.commit([insert(RESOURCES, { id: "a" })]);
      await expect.poll(() => changes).toEqual(["unknown", { keys: new Set(["a"]) }]);
      await Promise.all([one.close(), other.close()]);
    },
  );

  it("names every key, even if more change at once than fit into one notification", async () => {
    const schemaName = `t${schemas++}`;
    const [one, other] = [withOptions()(schemaName), withOptions()(schemaName)];
    await one.init();
    const changes: Change[] = [];
    one.watch((change) => changes.push(change));
    await expect.poll(() => changes).toEqual(["unknown"]);
    const ids = Array.from({ length: 500 }, (_, index) => `resource-${index}-${"x".repeat(50)}`);
    await other.commit([insert(RESOURCES, { id: ids[0]! })], { key: ids });
    const told = () =>
      changes.slice(1).flatMap((change) => (change === "unknown" ? change : [...change.keys]));
    await expect.poll(() => told().length).toBe(ids.length);
    expect(new Set(told())).toEqual(new Set(ids));
    await Promise.all([one.close(), other.close()]);
  });

  it("takes a notification that is not from a store for a change of anything", async () => {
    const store = withOptions()("foreign_news");
    await store.init();
    const changes: Change[] = [];
    store.watch((change) => changes.push(change));
    await expect.poll(() => changes).toEqual(["unknown"]);
    const client = new pg.Client({ connectionString });
    await client.connect();
    const payloads = ["", "text", "null", "5", "{}", "[1, 2]"];
    for (const payload of payloads)
      await client.query("SELECT pg_notify('selvedge_foreign_news', $1)", [payload]);
    await client.end();
    await expect.poll(() => changes.length).toBe(1 + payloads.length);
    await store.close();
  });

  it.each(["serializable", "repeatable read"])(
    "creates its tables once where the default is %s",
    async (level) => {
      const client = new pg.Client({ connectionString });
      await client.connect();
      const database = level.replace(" ", "_");
      await client.query(`CREATE DATABASE ${database}`);
      await client.query(`ALTER DATABASE ${database} SET default_transaction_isolation = '${level}'`);
      await client.end();
      const url = new URL(connectionString);
      url.pathname = `/${database}`;
      for (const schemaName of ["a", "b", "c"]) {
        const stores = Array.from({ length: 5 }, () =>
          withOptions({ connectionString: url.href })(schemaName),
        );
        await Promise.all(stores.map((store) => store.init()));
        const memories = await Promise.all(stores.map((store) => store.getStore("memory")));
        await Promise.all(
          memories.map((memory) => memory!.searchMessages({ text: "needle", resourceId: "r" })),
        );
        await Promise.all(stores.map((store) => store.close()));
      }
    },
  );

  it("lets others use a table while an upgrade waits for a backup to end", async () => {
    const old = withOptions()("upgraded");
    await old.init();
    const [admin, backup] = [new pg.Client({ connectionString }), new pg.Client({ connectionString })];
    await Promise.all([admin.connect(), backup.connect()]);
    await admin.query("SET search_path TO upgraded");
    const NOTIFICATIONS = TABLES.find(({ name }) => name === "selvedge_notifications") as Table;
    // Without this, nothing is to be done, and no table is locked.
    await admin.query("ALTER TABLE selvedge_notifications DROP COLUMN summary");
    await admin.query("UPDATE selvedge_migrations SET version = version - 1");
    await backup.query("BEGIN");
    for (const { name } of TABLES) await backup.query(`LOCK TABLE upgraded.${name} IN ACCESS SHARE MODE`);
    const upgraded = withOptions()("upgraded");
    const opening = upgraded.init();
    const waiting = "SELECT relation::regclass::text AS name FROM pg_locks WHERE NOT granted";
    await expect
      .poll(async () => (await admin.query(waiting)).rows)
      .toEqual([{ name: "selvedge_notifications" }]);
    // This waits behind the upgrade, until that lets others pass.
    expect(await old.count({ table: NOTIFICATIONS })).toBe(0);
    await backup.query("COMMIT");
    await opening;
    const summary =
      "SELECT 1 FROM pg_attribute WHERE attrelid = 'selvedge_notifications'::regclass AND attname = 'summary'";
    expect((await admin.query(summary)).rows).toHaveLength(1);
    await Promise.all([admin.end(), backup.end(), old.close(), upgraded.close()]);
  });

  it("finds each message by its words while others write and search", async () => {
    const schema = `t${schemas++}`;
    const stores = [withOptions()(schema), withOptions()(schema)];
    const [memory, other] = await Promise.all(stores.map(async (store) => (await store.getStore("memory"))!));
    const write = async (id: string, text: string): Promise<void> => {
      const content = { format: 2, parts: [{ type: "text", text }] };
      const row = { id, thread_id: "t", resource_id: "r", role: "user", content, created_at: 0 };
      await stores[0]!.commit([insert(MESSAGES, row, "update")]);
    };
    const search = (text: string): Promise<string[]> =>
      other!.searchMessages({ text, resourceId: "r", limit: 1_000 }).then((all) => all.map(({ id }) => id));
    await write("before", "Word BEFORE the first search");
    const searching = Promise.all(Array.from({ length: 10 }, () => search("before the first")));
    for (let index = 0; index < 50; index++) await write(`m${index}`, `needle-${index}.`);
    expect(new Set((await searching).flat())).toEqual(new Set(["before"]));
    await write("m7", "changed");
    await stores[0]!.commit([remove(MESSAGES, { id: "m8" })]);
    const [found, ...others] = await Promise.all([
      search("NEEDLE-"),
      search("needle-7."),
      search("needle-8."),
      search("changed"),
    ]);
    expect(found).toHaveLength(48);
    expect(others).toEqual([[], [], ["m7"]]);
    expect(await memory!.searchMessages({ text: "needle", resourceId: "another" })).toEqual([]);
    await Promise.all(stores.map((store) => store.close()));
  });

  it("creates its tables with whatever is done first", async () => {
    for (const use of [
      (store: Storage): Promise<unknown> => store.count({ table: RESOURCES }),
      (store: Storage): Promise<unknown> => store.commit([insert(RESOURCES, { id: "a" })]),
      (store: Storage): Promise<unknown> => store.selectMentioning({ table: MESSAGES }, ["word"]),
    ]) {
      const store = withOptions()(`t${schemas++}`);
      await use(store);
      await store.close();
    }
  });

  it("asks for changes where it cannot listen", async () => {
    const schema = `t${schemas++}`;
    const [store, other] = [withOptions({ pollMs: 20 })(schema), withOptions()(schema)];
    await store.init();
    let changes = 0;
    store.watch(() => changes++);
    await expect.poll(() => changes).toBeGreaterThan(0);
    const before = changes;
    await other.commit([insert(RESOURCES, { id: "a" })]);
    await expect.poll(() => changes).toBeGreaterThan(before);
    await Promise.all([store.close(), other.close()]);
  });

  it.each([
    ["power-safe", "on"],
    ["process-safe", "off"],
  ] as const)("commits with the durability %s", async (durability, expected) => {
    const schema = `t${schemas++}`;
    const store = withOptions({ durability })(schema);
    await store.init();
    const client = new pg.Client({ connectionString });
    await client.connect();
    await client.query(`CREATE FUNCTION ${schema}.note() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN NEW.working_memory := current_setting('synchronous_commit'); RETURN NEW; END $$`);
    await client.query(`CREATE TRIGGER note BEFORE INSERT ON ${schema}.selvedge_resources
      FOR EACH ROW EXECUTE FUNCTION ${schema}.note()`);
    await client.end();
    await store.commit([insert(RESOURCES, { id: "a" })]);
    expect(await store.select({ table: RESOURCES, columns: ["working_memory"] })).toEqual([
      { working_memory: expected },
    ]);
    await store.close();
  });

  it.each([
    [true, SCHEMA_VERSION],
    [false, SCHEMA_VERSION + 1],
  ])("is opened beside a newer program: %s, where that says version %i", async (opens, readableFrom) => {
    const schema = `t${schemas++}`;
    const open = (): Storage => withOptions()(schema);
    const storage = open();
    await storage.init();
    await storage.close();
    const client = new pg.Client({ connectionString });
    await client.connect();
    const newer = [SCHEMA_VERSION + 1, readableFrom];
    await client.query(`INSERT INTO "${schema}".selvedge_migrations VALUES ($1, 0, $2)`, newer);
    await client.end();
    const again = open();
    const opening = expect(again.init());
    await (opens
      ? opening.resolves.toBeUndefined()
      : opening.rejects.toMatchObject({ code: "storage-failed", details: { found: SCHEMA_VERSION + 1 } }));
    await again.close();
  });

  it.each([
    ["without a lock", WithoutLock, RACES],
    ["with the lock in the statement that checks", WithLockInTheSameStatement, RACES],
    [
      "with a sequence that has a cache",
      WithNumbersInBlocks,
      ["numbers the rows of a key upwards, whichever connection inserts them"],
    ],
  ])("is told from a driver %s", async (_, Driver, caughtBy) => {
    const broken = await findBroken(harness(withDriver(Driver)), (title) => caughtBy.includes(title));
    expect(broken.map(({ title }) => title)).toEqual(caughtBy);
  });
});
