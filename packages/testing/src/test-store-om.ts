import {
  insert,
  OM_CHUNKS,
  OM_DOMAIN,
  OM_JOBS,
  OM_RECORDS,
  type OmDomain,
  type OmJobRow,
  requireNone,
  type Storage,
  update,
} from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const ADDRESS = { scope: "thread", threadId: "t", resourceId: "r" } as const;

function domainOf(storage: Storage): Promise<OmDomain> {
  return storage.domain(OM_DOMAIN);
}

const job = (id: string, more: Partial<OmJobRow> = {}): Partial<OmJobRow> => ({
  thread_id: "t",
  id,
  source: "t",
  source_resource: "r",
  kind: "observe",
  tokens: 1,
  state: "waiting",
  attempt: 0,
  due_at: 0,
  fence: 0,
  agent_id: "a",
  waited: 0,
  created_at: 0,
  ...more,
});

/** The rows of observational memory. */
export function testOmDomain(test: StoreTest): void {
  test("keeps one record of observational memory per thread, and forgets it with the thread", async (storage) => {
    const domain = await domainOf(storage);
    const created = await domain.initializeObservationalMemory({ ...ADDRESS, config: { a: 1 } });
    expect(created).toMatchObject({ scope: "thread", threadId: "t", generationCount: 0, config: { a: 1 } });
    await domain.initializeObservationalMemory({ ...ADDRESS, config: { a: 2 } });
    expect(await domain.getObservationalMemory("t", "r")).toEqual(created);
    expect(await domain.getObservationalMemory("t", "other")).toBeNull();
    const changed = await domain.updateObservationalMemoryConfig(ADDRESS, { b: 1 });
    expect(changed.config).toEqual({ a: 1, b: 1 });
    await (await storage.getStore("memory"))!.deleteThread({ threadId: "t" });
    expect(await domain.getObservationalMemory("t", "r")).toBeNull();
  });

  test("gives a job to one of two who want it, and lets only that one finish it", async (storage, harness) => {
    const [one, two] = (await harness.connections(2)) as [Storage, Storage];
    await domainOf(one);
    await domainOf(two);
    await one.commit([insert(OM_JOBS, job("j")), insert(OM_JOBS, job("j"), "ignore")]);
    const take = (from: Storage, owner: string) =>
      from.commit([
        requireNone(OM_JOBS, { thread_id: "t", source: "t", number: { lt: 1 } }),
        update(OM_JOBS, {
          where: { thread_id: "t", id: "j", fence: 0, state: "waiting" },
          set: { state: "running", owner, fence: 1 },
          require: true,
        }),
      ]);
    const taken = await Promise.allSettled([take(one, "one"), take(two, "two")]);
    expect(taken.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    const finish = (owner: string) =>
      storage.commit([
        update(OM_JOBS, {
          where: { thread_id: "t", id: "j", owner, fence: 1 },
          set: { state: "done" },
          require: true,
        }),
        insert(OM_CHUNKS, {
          thread_id: "t",
          id: `chunk of ${owner}`,
          source: "t",
          kind: "observe",
          state: "buffered",
        }),
      ]);
    await Promise.allSettled([finish("one"), finish("two")]);
    expect(await storage.count({ table: OM_CHUNKS, where: { thread_id: "t" } })).toBe(1);
  });

  test("numbers chunks in the order of their commits, and adds to sums from all sides", async (storage) => {
    const domain = await domainOf(storage);
    await domain.initializeObservationalMemory(ADDRESS);
    const chunk = (id: string) =>
      storage.commit([
        insert(OM_CHUNKS, { thread_id: "t", id, source: "t", kind: "observe", state: "buffered", tokens: 2 }),
        update(OM_RECORDS, {
          where: { thread_id: "t", source: "" },
          increment: { total_observed: 5 },
          merge: { usage: { [id]: 1 } },
        }),
      ]);
    await Promise.all(["a", "b", "c"].map(chunk));
    const { record, chunks } = await domain.read(ADDRESS);
    expect(record).toMatchObject({ total_observed: 15, usage: { a: 1, b: 1, c: 1 } });
    expect(chunks.map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(chunks.map(({ number }) => number)).toEqual(
      chunks.map(({ number }) => number).toSorted((x, y) => x - y),
    );
    expect((await domain.read(ADDRESS, chunks[1]!.number)).chunks.map(({ id }) => id)).toEqual(["c"]);
    await domain.clearObservationalMemory("t", "r");
    expect(await domain.read(ADDRESS)).toMatchObject({ record: undefined, chunks: [], jobs: [] });
  });
}
