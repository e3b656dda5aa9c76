import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import type { ThreadDomain } from "@selvedge/core/storage";
import Database from "libsql";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LibSQLStore } from "./libsql-store.ts";

let folder: string;
let file: string;
const open: LibSQLStore[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "selvedge-"));
  file = join(folder, "store.db");
});

afterEach(async () => {
  for (const store of open.splice(0)) await store.close();
  await rm(folder, { recursive: true });
});

async function memory(): Promise<ThreadDomain> {
  const store = new LibSQLStore({ url: `file:${file}` });
  open.push(store);
  const domain = (await store.getStore("memory"))!;
  const createdAt = new Date(0);
  await domain.saveThread({ thread: { id: "t", resourceId: "r", createdAt, updatedAt: createdAt } });
  return domain;
}

async function say(domain: ThreadDomain, ...texts: string[]): Promise<void> {
  await domain.saveMessages({
    messages: texts.map((text) => ({
      id: text,
      role: "user",
      createdAt: new Date(0),
      threadId: "t",
      resourceId: "r",
      content: { format: 2, parts: [{ type: "text", text }] },
    })),
  });
}

async function found(domain: ThreadDomain, text: string): Promise<string[]> {
  return (await domain.searchMessages({ text, resourceId: "r" })).map(({ id }) => id);
}

const hay = (count: number): string[] => Array.from({ length: count }, (_, index) => `hay ${index}`);

describe("the index of messages", () => {
  it("is made for a file of an older version, with what is in it", async () => {
    const before = await memory();
    await say(before, "needle", ...hay(300));
    await open.pop()!.close();
    const database = new Database(file);
    const ours = "name LIKE 'selvedge\\_messages\\_search%' ESCAPE '\\'";
    const rows = database.prepare(`SELECT name, type FROM sqlite_master WHERE ${ours}`).all([]) as {
      name: string;
      type: string;
    }[];
    for (const { name, type } of rows) if (type === "trigger") database.exec(`DROP TRIGGER "${name}"`);
    for (const name of ["", "_state", "_again"]) database.exec(`DROP TABLE selvedge_messages_search${name}`);
    database.exec("UPDATE selvedge_migrations SET version = version - 1");
    database.close();
    const after = await memory();
    expect(await found(after, "needle")).toEqual(["needle"]);
    await say(after, "needle again");
    expect(await found(after, "needle")).toEqual(["needle again", "needle"]);
  });

  it("finds what another process wrote, whoever searched before", async () => {
    const [one, other] = [await memory(), await memory()];
    await say(one, "needle one");
    expect(await found(other, "needle")).toEqual(["needle one"]);
    await say(other, "needle two");
    await other.deleteMessages(["needle one"]);
    expect(await found(one, "needle")).toEqual(["needle two"]);
    await Promise.all([say(one, ...hay(200)), say(other, "needle three"), found(one, "hay")]);
    const both = await Promise.all([found(one, "needle"), found(other, "needle")]);
    expect(both).toEqual([
      ["needle three", "needle two"],
      ["needle three", "needle two"],
    ]);
  });

  it("lets writes have their turn while it reads in what is new", async () => {
    const domain = await memory();
    await say(domain, ...hay(3000));
    let searched = false;
    const search = found(domain, "hay 2999").then((ids) => {
      searched = true;
      return ids;
    });
    await say(domain, "meanwhile");
    expect(searched).toBe(false);
    expect(await search).toEqual(["hay 2999"]);
    expect(await found(domain, "meanwhile")).toEqual(["meanwhile"]);
  });

  it("is not kept waiting by messages that go while it reads, nor by those that keep coming", async () => {
    const domain = await memory();
    await say(domain, ...hay(2000));
    const searching = found(domain, "hay 5");
    await domain.deleteMessages(hay(2000).slice(10));
    expect(await searching).toContain("hay 5");
    let over = false;
    const writing = (async () => {
      for (let turn = 0; !over; turn++) {
        await say(domain, ...hay(50).map((text) => `${text} ${turn}`));
        await setImmediate();
      }
    })();
    expect(await found(domain, "hay 5")).not.toEqual([]);
    over = true;
    await writing;
  });

  it("notes only changes of messages that were read in", async () => {
    const domain = await memory();
    await say(domain, "one", "two");
    const database = new Database(file);
    const noted = () =>
      (database.prepare("SELECT count(*) AS n FROM selvedge_messages_search_again").get([]) as { n: number })
        .n;
    await domain.deleteMessages(["one"]);
    expect(noted()).toBe(0);
    expect(await found(domain, "two")).toEqual(["two"]);
    await domain.deleteMessages(["two"]);
    expect(noted()).toBe(1);
    expect(await found(domain, "two")).toEqual([]);
    expect(noted()).toBe(0);
    database.close();
  });
});

it("lets others have their turn while somebody looks for what no index knows, and stops when nobody waits", async () => {
  const domain = await memory();
  await say(domain, "qz", ...hay(3000));
  await found(domain, "hay");
  let turns = 0;
  let searching = true;
  const others = (async () => {
    while (searching) {
      turns++;
      await setImmediate();
    }
  })();
  expect(await found(domain, "qz")).toEqual(["qz"]);
  expect(turns).toBeGreaterThan(5);
  const controller = new AbortController();
  const left = domain.searchMessages({ text: "qz", resourceId: "r", signal: controller.signal });
  controller.abort();
  expect(await left).toEqual([]);
  searching = false;
  await others;
});
