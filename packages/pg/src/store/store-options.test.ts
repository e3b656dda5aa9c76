import pg from "pg";
import { describe, expect, it, vi } from "vitest";
import { PostgresStore } from "./postgres-store.ts";
import type { PostgresStoreOptions } from "./store-options.ts";

const connectionString = "postgresql://user:secret@localhost:5432/app";

describe("PostgresStore", () => {
  it.each<[wrong: string, options: object, message: string]>([
    ["no address", {}, "needs a connectionString"],
    ["an address of another kind", { connectionString: "mysql://user:secret@db" }, 'got "mysql://…"'],
    ["a text that is not an address", { connectionString: "user secret" }, 'got "…"'],
    ["an empty address", { connectionString: "" }, 'got ""'],
    ["a word for ssl", { connectionString, ssl: "yes" }, "ssl must be a boolean, or an object"],
    ["two addresses", { connectionString, host: "db" }, "either connectionString or host"],
    ["a pool and an address", { pool: new pg.Pool(), host: "db" }, "either pool or host"],
    ["something that is not a pool", { pool: {} }, "a Pool from the package pg"],
    ["pipelines on a pool without them", { pool: new pg.Pool(), pipeline: true }, "pipeline: true"],
    ["a port that is none", { host: "db", port: 70_000 }, "port must be a number from 1 to 65535, got 70000"],
    [
      "a pool of no connections",
      { connectionString, max: 0 },
      "max must be a whole number, 1 or more, got 0",
    ],
    ["an unknown durability", { connectionString, durability: "full" }, 'got "full"'],
    ["a word for a boolean", { connectionString, prepare: "no" }, 'prepare must be a boolean, got "no"'],
    [
      "two ways to hear of changes",
      { connectionString, pollMs: 5, listenConnectionString: connectionString },
      "not both",
    ],
    [
      "a schema that is more than a name",
      { connectionString, schemaName: 'a"; DROP TABLE b; --' },
      "schemaName must be",
    ],
    ["a schema of PostgreSQL", { connectionString, schemaName: "pg_catalog" }, 'does not start with "pg_"'],
    [
      "the schema of the SQL standard",
      { connectionString, schemaName: "information_schema" },
      'is not "information_schema"',
    ],
    [
      "a schema with a name that is cut",
      { connectionString, schemaName: "ä".repeat(32) },
      "at most 63 bytes",
    ],
  ])("refuses %s", (_, options, message) => {
    const create = (): PostgresStore => new PostgresStore(options as PostgresStoreOptions);
    expect(create).toThrow(expect.objectContaining({ code: "invalid-argument" }));
    expect(create).toThrow(message);
    expect(create).not.toThrow("secret");
  });

  it("warns about an option that it does not have, with the name that was probably meant", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const create = (): PostgresStore =>
      new PostgresStore({ connectionstring: connectionString } as PostgresStoreOptions);
    expect(create).toThrow("needs a connectionString");
    expect(warn.mock.calls.flat().join(" ")).toContain('Did you mean "connectionString"?');
    warn.mockRestore();
  });

  it("does not connect before it is used", async () => {
    const store = new PostgresStore({ host: "nowhere.invalid", user: "user", password: "secret" });
    expect(store.id).toBe("postgres");
    await store.close();
    await expect(store.init()).rejects.toMatchObject({ code: "storage-closed" });
  });
});
