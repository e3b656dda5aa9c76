import { virtualSystem } from "@selvedge/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { ACTORS, type ActorRow, RUNS } from "../../storage/thread-tables.ts";
import { insert, update } from "../../storage/writes.ts";
import { insertActor, toActor } from "./actor.ts";
import { takeWrites } from "./take.ts";
import type { Thread } from "./thread.ts";

const thread = { threadId: "t", resourceId: "r", owner: "p1", system: virtualSystem() } as unknown as Thread;
const ticket = { runId: "run", agentId: "me", options: { maxSteps: 3 } as never };
let storage: InMemoryStorage;

beforeEach(async () => {
  storage = new InMemoryStorage();
  await storage.init();
  await storage.commit([insertActor("t", "r")]);
});

const actorRow = async (): Promise<ActorRow> => (await storage.select({ table: ACTORS }))[0]!;
const change = (set: Partial<ActorRow>) =>
  storage.commit([update(ACTORS, { where: { thread_id: "t" }, set })]);

describe("the writes that take a thread", () => {
  it("make the run the active one, under a new fence", async () => {
    await change({ fence: 4, next_seq: 7, abort_run: "an older run" });
    const { run, writes, lease } = takeWrites(thread, ticket, toActor(await actorRow()));
    expect({ ...run, ...lease }).toEqual({ runId: "run", agentId: "me", fence: 5, nextSeq: 7 });
    await storage.commit(writes);
    expect(await actorRow()).toMatchObject({
      owner: "p1",
      fence: 5,
      run_id: "run",
      run_state: "running",
      agent_id: "me",
      abort_run: null,
    });
    expect(await storage.select({ table: RUNS })).toMatchObject([
      { id: "run", fence: 5, state: "running", attempts: 1, step: 0, first_seq: 7, options: { maxSteps: 3 } },
    ]);
  });

  it.each<[string, Partial<ActorRow>]>([
    ["another process was faster", { fence: 1 }],
    ["another run is active", { run_id: "other" }],
    ["a stored signal put events into the log", { next_seq: 4 }],
    ["the thread belongs to another resource", { resource_id: "someone" }],
  ])("have no effect when %s", async (_, since) => {
    const { writes } = takeWrites(thread, ticket, toActor(await actorRow()));
    await change(since);
    await expect(storage.commit(writes)).rejects.toMatchObject({ code: "conflict", details: { index: 0 } });
    expect(await storage.count({ table: RUNS })).toBe(0);
  });

  it.each([
    ["was given up before it took anything in", { state: "failed", first_message_id: null }, true],
    ["has taken its input in", { state: "failed", first_message_id: "m1" }, false],
    ["runs", { state: "running", first_message_id: null }, false],
  ] as const)("open a run again only if it %s", async (_, left, isOpened) => {
    const row = { ...left, thread_id: "t", resource_id: "r", agent_id: "me", fence: 0, options: {} };
    await storage.commit([
      insert(RUNS, { ...row, id: "run", step: 0, next: "continue", first_seq: 1, started_at: 0 }),
    ]);
    const taken = storage.commit(takeWrites(thread, { ...ticket, again: true }).writes);
    if (isOpened) await taken;
    else await expect(taken).rejects.toMatchObject({ code: "conflict" });
  });
});
