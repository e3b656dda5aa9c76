import { type Domain, insert, type Storage, type Table, update } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

type NoteRow = { id: string; thread_id: string; text: string | null; stars: number | null };

/** A room's tables, as its versions 1 and 2 declare them. */
function notes(version: 1 | 2, readableFrom: number = version): Domain<Notes> {
  const table = {
    name: "selvedge_test_notes",
    columns: { id: "text", thread_id: "text", text: "text", ...(version === 2 && { stars: "integer" }) },
    key: ["id"],
    partition: "thread_id",
    indexes: [{ columns: ["thread_id"] }, ...(version === 2 ? [{ columns: ["thread_id", "stars"] }] : [])],
  };
  const typed = table as object as Table<NoteRow>;
  return {
    name: "notes",
    version,
    readableFrom,
    tables: [typed],
    open: (storage) => new Notes(storage, typed),
  };
}

class Notes {
  readonly #storage: Storage;
  readonly #table: Table<NoteRow>;

  constructor(storage: Storage, table: Table<NoteRow>) {
    this.#storage = storage;
    this.#table = table;
  }

  async add(id: string, threadId: string): Promise<void> {
    await this.#storage.commit([insert(this.#table, { id, thread_id: threadId, text: `note ${id}` })]);
  }

  async rate(id: string, stars: number): Promise<void> {
    await this.#storage.commit([update(this.#table, { where: { id }, set: { stars }, require: true })]);
  }

  list(): Promise<NoteRow[]> {
    return this.#storage.select({ table: this.#table, orderBy: [{ column: "id" }] });
  }
}

export function testDomains(test: StoreTest): void {
  test("gets its tables when it is first used, by several connections at once", async (_, harness) => {
    const connections = await harness.connections(3);
    await Promise.all(
      connections.map(async (storage, index) => (await storage.domain(notes(1))).add(`n${index}`, "t")),
    );
    const all = await (await connections[0]!.domain(notes(1))).list();
    expect(all.map(({ id, text }) => [id, text])).toEqual([
      ["n0", "note n0"],
      ["n1", "note n1"],
      ["n2", "note n2"],
    ]);
  });

  test("is opened once per store", async (storage) => {
    const domain = notes(1);
    const [first, second] = await Promise.all([storage.domain(domain), storage.domain(domain)]);
    expect(second).toBe(first);
  });

  test("finds its rows again, and upgrades its tables, when the store is opened anew", async (storage, harness) => {
    await (await storage.domain(notes(1))).add("old", "t");
    if (!harness.reopen) return;
    await storage.close();
    const again = await harness.reopen();
    const domain = await again.domain(notes(2));
    await domain.rate("old", 5);
    expect(await domain.list()).toEqual([{ id: "old", thread_id: "t", text: "note old", stars: 5 }]);
    await again.close();
  });

  test("of an older version works beside a newer one that allows it, and is refused by one that does not", async (_, harness) => {
    const [newer, older, other] = (await harness.connections(3)) as [Storage, Storage, Storage];
    if (newer === older) return;
    await newer.domain(notes(2, 1));
    await (await older.domain(notes(1))).add("n", "t");
    expect(await (await newer.domain(notes(2, 1))).list()).toMatchObject([{ id: "n", stars: null }]);
    const closed = { ...notes(2, 2), name: "closed" };
    await newer.domain(closed);
    await expect(other.domain({ ...notes(1), name: "closed" })).rejects.toMatchObject({
      code: "storage-failed",
      details: { domain: "closed", found: 2, known: 1 },
    });
  });

  test("loses the rows of a thread with the thread, whoever deletes it", async (storage, harness) => {
    const notesHere = await storage.domain(notes(1));
    await notesHere.add("gone", "t");
    await notesHere.add("kept", "other");
    const [, elsewhere] = await harness.connections(2);
    await (await elsewhere!.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await notesHere.list()).toMatchObject([{ id: "kept" }]);
  });
}
