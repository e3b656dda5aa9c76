import { expect, test } from "vitest";
import { gate, HERE, onThread, until } from "../../agent/__fixtures__/on-thread.ts";
import { createTool } from "../../tool/tool.ts";
import { NEXT } from "../admit/mailbox.ts";
import { editQueued, hurryQueued, listQueued, moveQueued, removeQueued } from "./queue.ts";
import { readRunTimeline } from "./run-timeline.ts";
import { listLanes, listRuns, ownerOfRun, ownerOfThread, readThreadOverview } from "./thread-overview.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";

/** A thread whose first answer is held back, so that what is queued waits. */
async function busyThread() {
  const release = gate();
  const entered = gate();
  const world = onThread(async ({ index }) => {
    if (index === 0) {
      entered.open();
      await release.opened;
    }
    return `answer ${index}`;
  });
  const first = world.agent.sendMessage("first", HERE);
  await first.admitted;
  await entered.opened;
  const queue = async (text: string) => {
    const sent = world.agent.queueMessage(text, HERE);
    await sent.admitted;
    return { threadId: HERE.threadId, messageId: sent.signal.id };
  };
  return { ...world, release, queue, firstRun: first.runId };
}

test("lists what waits in the order in which it is taken", async () => {
  const { storage, queue, release, idle } = await busyThread();
  await queue("second");
  await queue("third");
  const waiting = await listQueued(storage, HERE.threadId);
  expect(waiting.map(({ signal, due }) => [signal.contents, due])).toEqual([
    ["second", "next"],
    ["third", "next"],
  ]);
  release.open();
  await idle();
  expect(await listQueued(storage, HERE.threadId)).toEqual([]);
});

test("a queued message is taken as it was last edited, in its place", async () => {
  const { storage, queue, release, idle, history } = await busyThread();
  const second = await queue("second");
  await queue("third");
  const edited = await editQueued(storage, second, "second, better");
  expect(edited).toMatchObject({ id: second.messageId, due: "next" });
  release.open();
  await idle();
  expect((await history()).filter((line) => line.startsWith("signal"))).toEqual([
    "signal: first",
    "signal: second, better",
    "signal: third",
  ]);
});

test("a message is moved within a queue that is longer than what is listed", async () => {
  const { storage, queue, release, idle } = await busyThread();
  const addresses = [];
  for (let index = 0; index <= 1001; index++) addresses.push(await queue(`message ${index}`));
  const inOrder = async () =>
    (await storage.select({ table: MAILBOX, where: { due: NEXT }, orderBy: [{ column: "seq" }] })).map(
      ({ id }) => id,
    );
  const before = await inOrder();
  expect(before).toHaveLength(1002);
  await moveQueued(storage, addresses[1]!, 0);
  expect(await inOrder()).toEqual([before[1], before[0], ...before.slice(2)]);
  await moveQueued(storage, addresses[1001]!, 1000);
  expect((await inOrder()).slice(-2)).toEqual([before[1001], before[1000]]);
  for (const address of addresses) await removeQueued(storage, address);
  release.open();
  await idle();
});

test("messages are taken in the order that a person gave them, each with what it was sent with", async () => {
  const { storage, queue, release, idle, history } = await busyThread();
  const addresses = [];
  for (const text of ["second", "third", "fourth"]) addresses.push(await queue(text));
  await moveQueued(storage, addresses[2]!, 0);
  await moveQueued(storage, addresses[0]!, 99);
  await moveQueued(storage, addresses[0]!, 2);
  const waiting = await listQueued(storage, HERE.threadId);
  expect(waiting.map(({ signal }) => signal.contents)).toEqual(["fourth", "third", "second"]);
  release.open();
  await idle();
  expect((await history()).filter((line) => line.startsWith("signal"))).toEqual([
    "signal: first",
    "signal: fourth",
    "signal: third",
    "signal: second",
  ]);
  await expect(moveQueued(storage, addresses[0]!, 0)).rejects.toMatchObject({ code: "not-found" });
});

test("a move at any moment is either done or refused, and every message is taken once", async () => {
  const orders = new Set<string>();
  for (let round = 0; round < 60; round++) {
    const { storage, queue, release, idle, history } = await busyThread();
    await queue("second");
    const third = await queue("third");
    const late = round % 3 === 0 ? queue("fourth") : undefined;
    release.open();
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    await moveQueued(storage, third, 0).catch((error: { code: string }) =>
      expect(["not-found", "conflict"]).toContain(error.code),
    );
    await late;
    await idle();
    const lines = (await history()).filter((line) => line.startsWith("signal"));
    orders.add(lines.join());
    expect(lines.toSorted()).toEqual(
      ["signal: first", ...(late ? ["signal: fourth"] : []), "signal: second", "signal: third"].toSorted(),
    );
  }
  expect(orders.size).toBeGreaterThan(1);
});

test("a message that was taken back is never seen, and the box is as full as it says", async () => {
  const { storage, queue, release, idle, history } = await busyThread();
  const second = await queue("second");
  await queue("third");
  await removeQueued(storage, second);
  release.open();
  await idle();
  expect(await history()).not.toContain("signal: second");
  expect(await history()).toContain("signal: third");
  const [actor] = await storage.select({ table: ACTORS });
  expect(actor).toMatchObject({ mailbox_count: 0, mailbox_bytes: 0 });
});

test("what a run has taken cannot be changed any more, nor what joins one", async () => {
  const { agent, storage, queue, release, idle } = await busyThread();
  const second = await queue("second");
  const joins = agent.sendMessage("joins", HERE);
  await joins.admitted;
  const joining = { threadId: HERE.threadId, messageId: joins.signal.id };
  await expect(editQueued(storage, joining, "x")).rejects.toMatchObject({ code: "conflict" });
  release.open();
  await idle();
  await expect(editQueued(storage, second, "x")).rejects.toMatchObject({ code: "not-found" });
  await expect(removeQueued(storage, second)).rejects.toMatchObject({ code: "not-found" });
});

test("an edit at any moment is either in the answer or refused", async () => {
  const outcomes = new Set<string>();
  for (let round = 0; outcomes.size < 2 || round < 40; round++) {
    const { storage, queue, release, idle, history } = await busyThread();
    const second = await queue("second");
    release.open();
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    const outcome = await editQueued(storage, second, "edited").then(
      () => "edited",
      (error: { code: string }) => error.code,
    );
    outcomes.add(outcome);
    await idle();
    const lines = (await history()).filter((line) => line.startsWith("signal"));
    expect(lines).toEqual(["signal: first", outcome === "edited" ? "signal: edited" : "signal: second"]);
  }
});

test("a removal at any moment is either done or refused, and the thread goes on", async () => {
  for (let round = 0; round < 40; round++) {
    const { storage, queue, release, idle, history } = await busyThread();
    const second = await queue("second");
    await queue("third");
    release.open();
    for (let turn = 0; turn < round; turn++) await Promise.resolve();
    const removed = await removeQueued(storage, second).then(
      () => true,
      () => false,
    );
    await idle();
    const lines = (await history()).filter((line) => line.startsWith("signal"));
    expect(lines).toEqual(["signal: first", ...(removed ? [] : ["signal: second"]), "signal: third"]);
  }
});

test("tells what goes on on a thread, and where to subscribe from", async () => {
  const { agent, storage, release, firstRun, idle, follow } = await busyThread();
  await until(async () => (await readThreadOverview(storage, "t1"))!.lastSeq > 0);
  const busy = (await readThreadOverview(storage, HERE.threadId))!;
  expect(busy).toMatchObject({ activeRunId: firstRun, runState: "running", agentId: "tester" });
  expect(busy.activeRunAfter).toBe(0);
  release.open();
  await idle();
  const after = (await readThreadOverview(storage, HERE.threadId))!;
  expect(after).toMatchObject({ runState: "idle", waiting: [] });
  expect(after.activeRunAfter).toBe(after.lastSeq);
  const reader = await follow({ after: 0 });
  const last = await reader.until("finish");
  expect(last.seq).toBe(after.lastSeq);
  reader.stop();
  expect(await readThreadOverview(storage, "nowhere")).toBeUndefined();
  expect(await ownerOfThread(storage, HERE.threadId)).toBe(HERE.resourceId);
  expect(await ownerOfThread(storage, "nowhere")).toBeUndefined();
  expect(await ownerOfRun(storage, firstRun)).toMatchObject(HERE);
  await agent.sendStateSignal(
    { id: "browser", cacheKey: "a", contents: "open" },
    { ...HERE, ifIdle: { behavior: "persist" } },
  );
  expect(await listLanes(storage, HERE.threadId)).toMatchObject([{ id: "browser", version: 1 }]);
});

test("a timeline has the steps of a run with their tokens and calls", async () => {
  const tool = createTool({ id: "look", description: "looks", execute: async () => "seen" });
  const { agent, storage, idle } = onThread([{ toolCalls: [{ toolName: "look", input: {} }] }, "done"], {
    tools: { look: tool },
  });
  const { runId } = agent.sendMessage("go", HERE);
  await until(async () => (await listRuns(storage, HERE)).total === 1);
  await idle();
  const { runs } = await listRuns(storage, HERE);
  expect(runs).toMatchObject([{ runId, state: "done", steps: 2 }]);
  const run = (await readRunTimeline(storage, { threadId: HERE.threadId, runId }))!;
  expect(run.timeline).toMatchObject([
    { step: 0, finishReason: "tool-calls", toolCalls: [{ toolName: "look", state: "done" }] },
    { step: 1, finishReason: "stop", text: "done", toolCalls: [] },
  ]);
  expect(run.timeline[1]!.usage!.totalTokens).toBeGreaterThan(0);
  const [first, second] = run.timeline.map(({ usage }) => usage!.totalTokens!);
  expect(run.usage!.totalTokens).toBe(first! + second!);
  expect(await readRunTimeline(storage, { threadId: "t2", runId })).toBeUndefined();
});

test("reads all that is there at once, and no more than asked", async () => {
  const { agent, idle } = onThread(["one two three"]);
  agent.sendMessage("go", HERE);
  const subscription = await agent.subscribeToThread({ ...HERE, after: 0 });
  const seen: number[] = [];
  await idle();
  while (seen.length < 5) {
    const batch = await subscription.read(2);
    expect(batch.length).toBeLessThanOrEqual(2);
    seen.push(...batch.map(({ seq }) => seq));
  }
  expect(seen).toEqual(seen.map((_, index) => index + 1));
  subscription.unsubscribe();
  expect(await subscription.read(2)).toEqual([]);
});

test("changes of one message that meet leave the mailbox with what it counts", async () => {
  const { storage, queue, release, idle, history } = await busyThread();
  const [second, third] = [await queue("second"), await queue("third")];
  await Promise.all([
    editQueued(storage, second, "second, much longer"),
    removeQueued(storage, second),
  ]).catch(() => {});
  await Promise.all([editQueued(storage, third, "third, much longer"), hurryQueued(storage, third)]).catch(
    () => {},
  );
  release.open();
  await idle();
  const [actor] = await storage.select({ table: ACTORS, where: { thread_id: HERE.threadId } });
  expect(actor).toMatchObject({ mailbox_count: 0, mailbox_bytes: 0 });
  expect(JSON.stringify(await history())).toContain("third, much longer");
});
