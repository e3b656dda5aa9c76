import { type Storage, TABLES, type Table } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const table = (name: string): Table => TABLES.find((one) => one.name === `selvedge_${name}`)!;
const [ACTORS, EVENTS, RUNS, SENDS] = ["actors", "events", "runs", "sends"].map(table) as [
  Table,
  Table,
  Table,
  Table,
];

/** A thread with so many pieces of its stream, one ended run and one idempotency key, all from the year 1970. */
async function oldThread(
  storage: Storage,
  threadId: string,
  pieces: number,
  runId: string | null,
): Promise<void> {
  await storage.commit([
    {
      op: "insert",
      table: ACTORS,
      row: {
        thread_id: threadId,
        resource_id: "r",
        fence: 1,
        run_id: runId,
        run_state: runId === null ? "idle" : "suspended",
        next_seq: pieces + 1,
        mailbox_count: 0,
      },
    },
    ...Array.from({ length: pieces }, (_, index) => ({
      op: "insert" as const,
      table: EVENTS,
      row: {
        thread_id: threadId,
        first: index + 1,
        last: index + 1,
        run_id: "old",
        chunks: [{ type: "start" }],
        created_at: 1_000 + index,
        // Every other piece is the last of a run.
        ...((pieces - index) % 2 === 1 && { rested_at: 1_000 + index }),
      },
    })),
    {
      op: "insert",
      table: RUNS,
      row: {
        id: `${threadId}-old`,
        thread_id: threadId,
        agent_id: "a",
        fence: 1,
        state: "done",
        ended_at: 2_000,
      },
    },
    { op: "insert", table: SENDS, row: { thread_id: threadId, key: "k", action: "wake", created_at: 1_000 } },
  ]);
}

export function testPrune(test: StoreTest): void {
  test("deletes what is over and old of every thread, also of those that are never used again", async (storage) => {
    await oldThread(storage, "one", 3, null);
    await oldThread(storage, "two", 700, null);
    expect(await storage.prune()).toEqual({
      events: 703,
      runs: 2,
      idempotencyKeys: 2,
      notifications: 0,
      workflowRuns: 0,
      scores: 0,
    });
    for (const of of [EVENTS, RUNS, SENDS]) expect(await storage.count({ table: of })).toBe(0);
    expect(await storage.count({ table: ACTORS })).toBe(2);
    expect(await storage.prune()).toEqual({
      events: 0,
      runs: 0,
      idempotencyKeys: 0,
      notifications: 0,
      workflowRuns: 0,
      scores: 0,
    });
  });

  test("keeps the stream of a run that waits, and what is not old enough", async (storage) => {
    await oldThread(storage, "waits", 600, "waiting");
    await oldThread(storage, "over", 2, null);
    expect(await storage.prune()).toMatchObject({ events: 2 });
    expect(await storage.count({ table: EVENTS, where: { thread_id: "waits" } })).toBe(600);
    await oldThread(storage, "kept", 2, null);
    expect(await storage.prune({ retentionMs: 1e13, idempotencyMs: 1e13 })).toMatchObject({
      events: 0,
      runs: 0,
    });
  });

  test("deletes notifications that are settled and old, and no others", async (storage) => {
    const inbox = (await storage.getStore("notifications"))!;
    const input = {
      threadId: "t",
      resourceId: "r",
      agentId: "a",
      source: "s",
      kind: "k",
      priority: "low" as const,
    };
    const [settled, pending] = await Promise.all(
      ["settled", "pending"].map((summary) => inbox.createNotification({ ...input, summary })),
    );
    await inbox.updateNotification({ threadId: "t", id: settled!.id, status: "dismissed" });
    expect(await storage.prune()).toMatchObject({ notifications: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await storage.prune({ inboxMs: 0 })).toMatchObject({ notifications: 1 });
    expect(await inbox.getNotification({ threadId: "t", id: settled!.id })).toBeFalsy();
    expect(await inbox.getNotification({ threadId: "t", id: pending!.id })).toMatchObject({
      status: "pending",
    });
  });

  test("deletes scores that are old, and lists only those of a resource", async (storage) => {
    const scores = (await storage.getStore("scores"))!;
    const of = { scorerId: "s", runId: "r", entityId: "a", entityType: "AGENT", source: "LIVE" as const };
    for (const resourceId of ["ann", "bob", undefined])
      await scores.saveScore({ ...of, resourceId, score: 1 });
    expect((await scores.listScoresByRunId({ runId: "r" })).pagination.total).toBe(3);
    for (const found of [
      await scores.listScoresByScorerId({ scorerId: "s", resourceId: "ann" }),
      await scores.listScoresByRunId({ runId: "r", resourceId: "ann" }),
      await scores.listScoresByEntityId({ entityId: "a", entityType: "AGENT", resourceId: "ann" }),
    ])
      expect(found).toMatchObject({ scores: [{ resourceId: "ann" }], pagination: { total: 1 } });
    expect(await storage.prune()).toMatchObject({ scores: 0 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await storage.prune({ scoresMs: 0 })).toMatchObject({ scores: 3 });
    expect((await scores.listScoresByRunId({ runId: "r" })).scores).toEqual([]);
  });

  test("refuses a retention that is no number", async (storage) => {
    await expect(storage.prune({ retentionMs: -1 })).rejects.toMatchObject({ code: "invalid-argument" });
  });
}
