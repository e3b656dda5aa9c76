import { VirtualClock, virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Select, Write } from "../storage/storage.ts";
import { heard, HOUR, HOURLY, MINUTE, scheduled, THREAD } from "./__fixtures__/scheduled.ts";
import { TRIGGERS } from "./schedule-tables.ts";

const DAILY_PROMPT = { agentId: "reporter", prompt: "Report the day." };
const ON_THREAD = { ...DAILY_PROMPT, ...THREAD, cron: HOURLY };

describe("schedules of a thread", () => {
  it("send a signal at each time, as a notification in a schedule tag", async () => {
    const { mastra, system, storage, model } = await scheduled();
    const created = await mastra.schedules.create({ ...ON_THREAD, attributes: { kind: "hourly" } });
    expect(created).toMatchObject({
      status: "active",
      nextFireAt: system.now() + 5 * MINUTE,
      declared: false,
    });
    await system.advance(2 * HOUR);
    const one = `notification schedule {"kind":"hourly"} Report the day.`;
    expect(await heard(storage)).toEqual([one, one]);
    expect(model.calls).toHaveLength(2);
    const triggers = await mastra.schedules.listTriggers(created.id);
    expect(triggers).toMatchObject([
      { scheduledFireAt: created.nextFireAt! + HOUR, triggerKind: "schedule-fire", outcome: "published" },
      { scheduledFireAt: created.nextFireAt, scheduleId: created.id, runId: expect.any(String) },
    ]);
    expect(await mastra.schedules.get(created.id)).toMatchObject({
      lastFireAt: created.nextFireAt! + HOUR,
      lastRunId: triggers[0]!.runId,
      nextFireAt: created.nextFireAt! + 2 * HOUR,
    });
  });

  it("do with an idle thread what they say", async () => {
    const { mastra, system, storage, model } = await scheduled();
    const quiet = {
      signalType: "reactive" as const,
      tagName: "clock",
      ifIdle: { behavior: "persist" as const, attributes: { idle: true } },
    };
    const { id } = await mastra.schedules.create({ ...ON_THREAD, ...quiet });
    await mastra.schedules.create({ ...ON_THREAD, id: "never", ifIdle: { behavior: "discard" } });
    await system.advance(10 * MINUTE);
    expect(await heard(storage)).toEqual([`reactive clock {"idle":true} Report the day.`]);
    expect(model.calls).toHaveLength(0);
    expect(await mastra.schedules.listTriggers(id)).toMatchObject([{ outcome: "persisted" }]);
    expect(await mastra.schedules.listTriggers("never")).toMatchObject([
      { outcome: "discarded", runId: null },
    ]);
  });

  it("join an active run, unless they say otherwise", async () => {
    const gate = Promise.withResolvers<void>();
    const { mastra, system, agent, model } = await scheduled({
      answer: async () => (await gate.promise, "Done."),
    });
    const { id } = await mastra.schedules.create({ ...ON_THREAD, ifActive: { attributes: { busy: true } } });
    await mastra.schedules.create({ ...ON_THREAD, id: "polite", ifActive: { behavior: "discard" } });
    const { runId } = await agent.sendMessage("Begin.", THREAD).admitted;
    await expect.poll(() => model.calls.length).toBe(1);
    await system.advance(10 * MINUTE);
    expect(await mastra.schedules.listTriggers(id)).toMatchObject([{ outcome: "delivered", runId }]);
    expect(await mastra.schedules.listTriggers("polite")).toMatchObject([{ outcome: "discarded" }]);
    gate.resolve();
  });

  it("pass a request context to the run", async () => {
    const { mastra, system, model } = await scheduled();
    const requestContext = { team: "blue" };
    await mastra.schedules.create({ ...ON_THREAD, ifIdle: { streamOptions: { requestContext } } });
    await mastra.schedules.create({ ...DAILY_PROMPT, cron: HOURLY, requestContext });
    await system.advance(10 * MINUTE);
    expect(model.calls).toHaveLength(2);
    for (const { prompt } of model.calls) expect(JSON.stringify(prompt)).toContain("team blue");
  });
});

describe("schedules without a thread", () => {
  it("generate once per time and say how it ended", async () => {
    const { mastra, system, storage, model } = await scheduled({
      answer: (index) => {
        if (index === 1) throw new Error("overloaded");
        return "Fine.";
      },
    });
    const { id } = await mastra.schedules.create({ ...DAILY_PROMPT, cron: HOURLY });
    await system.advance(3 * HOUR);
    await expect
      .poll(async () => (await mastra.schedules.listTriggers(id)).map(({ outcome }) => outcome))
      .toEqual(["succeeded", "failed", "succeeded"]);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("Report the day.");
    expect((await mastra.schedules.listTriggers(id))[1]!.error).toContain("overloaded");
    expect(await heard(storage)).toEqual([]);
  });

  it("skip a time while the run before it is not over", async () => {
    const gate = Promise.withResolvers<void>();
    const { mastra, system, model } = await scheduled({ answer: async () => (await gate.promise, "Late.") });
    const { id } = await mastra.schedules.create({ ...DAILY_PROMPT, cron: HOURLY });
    await system.advance(2 * HOUR);
    expect(await mastra.schedules.listTriggers(id)).toMatchObject([
      { outcome: "skipped" },
      { outcome: "running" },
    ]);
    gate.resolve();
    await system.advance(HOUR);
    await expect
      .poll(() => mastra.schedules.listTriggers(id))
      .toMatchObject([{ outcome: "succeeded" }, { outcome: "skipped" }, { outcome: "succeeded" }]);
    expect(model.calls).toHaveLength(2);
  });

  it("record a run whose process died, and do not repeat it", async () => {
    const first = await scheduled({ answer: () => new Promise(() => {}) });
    const { system, storage } = first;
    const { id } = await first.mastra.schedules.create({ ...DAILY_PROMPT, cron: "5 8 * * *" });
    await system.advance(6 * MINUTE);
    expect(await first.mastra.schedules.listTriggers(id)).toMatchObject([{ outcome: "running" }]);
    // Its process stops without a word: others see that no one has renewed the row.
    const [row] = await storage.select({ table: TRIGGERS });
    const gone: Write = {
      op: "update",
      table: TRIGGERS as never,
      where: { id: row!.id },
      set: { owner: "gone" },
    };
    await storage.commit([gone]);
    const second = await scheduled({ system, storage });
    await second.mastra.start();
    await system.advance(10 * MINUTE);
    expect(await second.mastra.schedules.listTriggers(id)).toMatchObject([
      { outcome: "failed", error: expect.stringContaining("Give the schedule a thread") },
    ]);
    expect(second.model.calls).toHaveLength(0);
  });
});

describe("the time of a schedule", () => {
  it.each([
    ["5 * * * *", undefined, "2027-01-15T08:05:00Z"],
    ["30 * * * * *", undefined, "2027-01-15T08:00:30Z"],
    ["0 0 12 24 12 * 2030", "UTC", "2030-12-24T12:00:00Z"],
    ["0 9 * * *", "Europe/Berlin", "2027-01-16T08:00:00Z"],
    ["0 9 * * *", "America/New_York", "2027-01-15T14:00:00Z"],
    ["@daily", "UTC", "2027-01-16T00:00:00Z"],
  ])("%s in %s", async (cron, timezone, first) => {
    const { mastra } = await scheduled();
    const zone = timezone === undefined ? { timezone: "UTC" } : { timezone };
    const { nextFireAt } = await mastra.schedules.create({ ...DAILY_PROMPT, cron, ...zone });
    expect(new Date(nextFireAt!).toISOString().replace(".000", "")).toBe(first);
  });

  it("is not made up for after a pause, and counts from the moment of resuming", async () => {
    const { mastra, system, storage } = await scheduled();
    const { id } = await mastra.schedules.create(ON_THREAD);
    expect((await mastra.schedules.pause(id)).nextFireAt).toBeUndefined();
    await system.advance(5 * HOUR + 10 * MINUTE);
    expect(await heard(storage)).toEqual([]);
    const resumed = await mastra.schedules.resume(id);
    expect(resumed).toMatchObject({ status: "active", nextFireAt: system.now() + 55 * MINUTE });
    await system.advance(56 * MINUTE);
    expect(await heard(storage)).toHaveLength(1);
  });

  it("that was missed by all processes counts once, late", async () => {
    const { mastra, system, storage } = await scheduled();
    const { id, nextFireAt } = await mastra.schedules.create(ON_THREAD);
    system.clockOffset += 10 * HOUR;
    await system.advance(2 * MINUTE);
    expect(await mastra.schedules.listTriggers(id)).toMatchObject([{ scheduledFireAt: nextFireAt }]);
    expect(await heard(storage)).toHaveLength(1);
  });

  it("changes with its pattern and its zone, and with nothing else", async () => {
    const { mastra, system } = await scheduled();
    const { id, nextFireAt } = await mastra.schedules.create({ ...ON_THREAD, timezone: "UTC" });
    expect(await mastra.schedules.update(id, { prompt: "Other." })).toMatchObject({
      nextFireAt,
      prompt: "Other.",
    });
    const moved = await mastra.schedules.update(id, { cron: "0 12 * * *" });
    expect(moved.nextFireAt).toBe(system.now() + 4 * HOUR);
    const zoned = await mastra.schedules.update(id, { timezone: "Europe/Berlin" });
    expect(zoned.nextFireAt).toBe(system.now() + 3 * HOUR);
    await mastra.schedules.pause(id);
    expect((await mastra.schedules.update(id, { cron: HOURLY })).nextFireAt).toBeUndefined();
  });

  it.each([
    ["back", -3 * HOUR],
    ["forward", 3 * HOUR],
  ])("never counts twice when the clock is set %s", async (_, jump) => {
    const { mastra, system, storage } = await scheduled();
    const { id } = await mastra.schedules.create(ON_THREAD);
    await system.advance(10 * MINUTE);
    system.clockOffset += jump;
    await mastra.schedules.update(id, { cron: "5 */1 * * *" });
    await system.advance(HOUR);
    const times = (await mastra.schedules.listTriggers(id)).map(({ scheduledFireAt }) => scheduledFireAt);
    expect(new Set(times).size).toBe(times.length);
    expect(await heard(storage)).toHaveLength(times.length);
  });
});

describe("schedules by hand", () => {
  it("run now, also while paused, and keep their time", async () => {
    const { mastra, storage } = await scheduled();
    const { id, nextFireAt } = await mastra.schedules.create(ON_THREAD);
    const { claimId, runId } = await mastra.schedules.run(id);
    await mastra.schedules.pause(id);
    await mastra.schedules.run(id);
    // Accepted means stored; the run that reads it may begin a moment later.
    await expect.poll(() => heard(storage)).toHaveLength(2);
    const triggers = await mastra.schedules.listTriggers(id);
    expect(triggers).toMatchObject([
      { triggerKind: "manual" },
      { id: claimId, runId, triggerKind: "manual" },
    ]);
    expect((await mastra.schedules.resume(id)).nextFireAt).toBe(nextFireAt);
  });

  it("are found by what they start, by status and by owner", async () => {
    const { mastra } = await scheduled();
    await mastra.schedules.create({ ...ON_THREAD, id: "a" });
    await mastra.schedules.create({
      ...DAILY_PROMPT,
      agentId: "other",
      cron: HOURLY,
      id: "b",
      status: "paused",
    });
    await mastra.schedules.create({ workflowId: "flow", cron: HOURLY, id: "c", metadata: { team: 1 } });
    const ids = async (options: Parameters<typeof mastra.schedules.list>[0]) =>
      (await mastra.schedules.list(options)).map(({ id }) => id);
    expect(await ids({})).toEqual(["a", "b", "c"]);
    expect(await ids({ agentId: "other" })).toEqual(["b"]);
    expect(await ids({ workflowId: "flow" })).toEqual(["c"]);
    expect(await ids({ status: "paused" })).toEqual(["b"]);
    expect(await ids({ resourceId: "ann" })).toEqual(["a"]);
    expect(await mastra.schedules.get("c")).toMatchObject({ workflowId: "flow", metadata: { team: 1 } });
  });

  it("are deleted with their history", async () => {
    const { mastra, system, storage } = await scheduled();
    await mastra.schedules.create({ ...ON_THREAD, id: "a" });
    await system.advance(HOUR);
    await mastra.schedules.delete("a");
    expect(await mastra.schedules.get("a")).toBeNull();
    expect(await storage.count({ table: TRIGGERS })).toBe(0);
    await expect(mastra.schedules.listTriggers("a")).rejects.toMatchObject({ code: "not-found" });
    await mastra.schedules.delete("a");
    await system.advance(2 * HOUR);
    expect(await heard(storage)).toHaveLength(1);
  });
});

describe("bad schedules", () => {
  const CASES: [string, object, string][] = [
    ["a pattern that is none", { ...ON_THREAD, cron: "whenever" }, `"whenever"`],
    ["four fields", { ...ON_THREAD, cron: "* * * *" }, `"* * * *"`],
    ["a date", { ...ON_THREAD, cron: "2027-01-01T00:00:00" }, "2027-01-01"],
    ["a minute 61", { ...ON_THREAD, cron: "61 * * * *" }, "61"],
    ["a day that never comes", { ...ON_THREAD, cron: "0 0 30 2 *" }, "no time in the future"],
    ["an unknown zone", { ...ON_THREAD, timezone: "Mars/North" }, `"Mars/North"`],
    ["nothing to start", { cron: HOURLY }, "workflowId or agentId"],
    ["two things to start", { ...ON_THREAD, workflowId: "w" }, "not both"],
    ["no prompt", { agentId: "a", cron: HOURLY }, "prompt"],
    ["a thread without its owner", { ...DAILY_PROMPT, threadId: "t", cron: HOURLY }, "resourceId"],
    ["a tag without a thread", { ...DAILY_PROMPT, tagName: "t", cron: HOURLY }, "threadId"],
    ["a tag that is no XML name", { ...ON_THREAD, tagName: "a b" }, "a b"],
    ["an unknown type of signal", { ...ON_THREAD, signalType: "loud" }, "loud"],
    ["an unknown behaviour", { ...ON_THREAD, ifIdle: { behavior: "sleep" } }, `"sleep"`],
    ["other stream options", { ...ON_THREAD, ifIdle: { streamOptions: { maxSteps: 1 } } }, "requestContext"],
    ["a reserved id", { ...ON_THREAD, id: "wf_mine" }, "wf_"],
    ["a long id", { ...ON_THREAD, id: "x".repeat(201) }, "200"],
    ["an unknown status", { ...ON_THREAD, status: "asleep" }, `"asleep"`],
    ["a date as input", { workflowId: "w", cron: HOURLY, inputData: { at: new Map() } }, `"at"`],
    ["a large input", { workflowId: "w", cron: HOURLY, inputData: "x".repeat(300_000) }, "262144"],
    ["metadata that is none", { ...ON_THREAD, metadata: "x" }, "metadata"],
  ];
  it.each(CASES)("%s is refused with the value", async (_, input, part) => {
    const { mastra } = await scheduled();
    const error = await mastra.schedules.create(input as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: expect.stringMatching(/^(invalid-argument|limit-exceeded)$/) });
    expect((error as Error).message).toContain(part);
    expect(await mastra.schedules.list()).toEqual([]);
  });

  it("an id that is taken is a conflict, and one that is not there not found", async () => {
    const { mastra } = await scheduled();
    await mastra.schedules.create({ ...ON_THREAD, id: "a" });
    await expect(mastra.schedules.create({ ...ON_THREAD, id: "a" })).rejects.toMatchObject({
      code: "conflict",
    });
    for (const call of ["pause", "resume", "run", "listTriggers"] as const)
      await expect(mastra.schedules[call]("b")).rejects.toMatchObject({ code: "not-found" });
    await expect(mastra.schedules.update("b", {})).rejects.toMatchObject({ code: "not-found" });
  });

  it("need a store", async () => {
    await expect(new Mastra().schedules.list()).rejects.toMatchObject({ code: "storage-required" });
  });
});

/** Counts its reads. */
class Counted extends InMemoryStorage {
  selects = 0;

  override select<R extends object>(query: Select<R>): Promise<R[]> {
    this.selects++;
    return super.select(query);
  }
}

describe("several processes", () => {
  it("fire each time once, with three schedules in five processes", async () => {
    const { system, storage, mastra, model } = await scheduled();
    const others = await Promise.all([1, 2, 3, 4].map(() => scheduled({ system, storage })));
    await Promise.all([mastra, ...others.map((other) => other.mastra)].map((host) => host.start()));
    for (const id of ["a", "b"]) await mastra.schedules.create({ ...ON_THREAD, threadId: id, id });
    await mastra.schedules.create({ ...DAILY_PROMPT, cron: HOURLY, id: "c" });
    await system.advance(3 * HOUR);
    expect(await heard(storage)).toHaveLength(6);
    await expect
      .poll(() => [model, ...others.map((other) => other.model)].flatMap(({ calls }) => calls))
      .toHaveLength(9);
    for (const id of ["a", "b", "c"]) expect(await mastra.schedules.listTriggers(id)).toHaveLength(3);
  });

  it.each([30, -30, 90, -90])("fire each time once if a clock is %d minutes off", async (minutes) => {
    const clock = new VirtualClock();
    const { system, storage, mastra } = await scheduled({ system: virtualSystem({ clock }) });
    const off = virtualSystem({ clock, name: "off" });
    off.clockOffset = minutes * MINUTE;
    const other = await scheduled({ system: off, storage });
    await Promise.all([mastra.start(), other.mastra.start()]);
    await mastra.schedules.create({ ...ON_THREAD, id: "a" });
    await other.mastra.schedules.create({ ...ON_THREAD, threadId: "thread-2", id: "b" });
    await system.advance(5 * HOUR);
    for (const id of ["a", "b"]) {
      const times = (await mastra.schedules.listTriggers(id)).map((one) => one.scheduledFireAt);
      expect(new Set(times).size).toBe(times.length);
      expect(times.length).toBeGreaterThanOrEqual(5);
      // Newest first. Only at the beginning a clock that is ahead may have missed an hour.
      for (const index of [0, 1, 2]) expect(times[index]! - times[index + 1]!).toBe(HOUR);
    }
  });

  it("find a schedule of a process that is gone, although no news arrive", async () => {
    const { system, storage, mastra } = await scheduled({ config: { threads: { recover: false } } });
    const other = await scheduled({ system, storage });
    await other.mastra.start();
    await mastra.schedules.create(ON_THREAD);
    await system.advance(10 * MINUTE);
    expect(await heard(storage)).toHaveLength(1);
  });

  it("fire nothing with threads.recover switched off, unless by hand", async () => {
    const { system, storage, mastra } = await scheduled({ config: { threads: { recover: false } } });
    const { id } = await mastra.schedules.create(ON_THREAD);
    await system.advance(3 * HOUR);
    expect(await heard(storage)).toEqual([]);
    await mastra.schedules.run(id);
    await system.advance(MINUTE);
    expect(await heard(storage)).toHaveLength(1);
  });

  it("leave alone what they do not have", async () => {
    const { system, mastra } = await scheduled();
    const { id } = await mastra.schedules.create({ ...ON_THREAD, agentId: "elsewhere" });
    await system.advance(3 * HOUR);
    expect(await mastra.schedules.listTriggers(id)).toEqual([]);
    await expect(mastra.schedules.run(id)).rejects.toMatchObject({ code: "not-found" });
  });

  it("keep a pause through restarts", async () => {
    const { system, storage, mastra } = await scheduled();
    const { id } = await mastra.schedules.create(ON_THREAD);
    await mastra.schedules.pause(id);
    const next = await scheduled({ system, storage });
    await next.mastra.start();
    await system.advance(3 * HOUR);
    expect(await heard(storage)).toEqual([]);
    expect(await next.mastra.schedules.get(id)).toMatchObject({ status: "paused" });
  });

  it("read twice a minute and write nothing while nothing is due, however many schedules there are", async () => {
    const system = virtualSystem();
    const storage = new Counted({ system });
    const { mastra } = await scheduled({ system, storage, config: { agents: {} } });
    for (let index = 0; index < 100; index++)
      await mastra.schedules.create({ ...ON_THREAD, id: `s${index}` });
    await system.advance(MINUTE);
    const before = storage.selects;
    await system.advance(24 * HOUR);
    expect(storage.selects - before).toBe(2 * 24 * 60);
  });

  it("keep the last thousand fires of a schedule", async () => {
    const { system, storage, mastra } = await scheduled();
    const { id } = await mastra.schedules.create({
      ...ON_THREAD,
      cron: "*/10 * * * * *",
      ifIdle: { behavior: "discard" },
    });
    await system.advance(3 * HOUR);
    expect(await storage.count({ table: TRIGGERS })).toBe(1000);
    expect(await mastra.schedules.listTriggers(id, { limit: 2000 })).toHaveLength(1000);
    expect(await mastra.schedules.listTriggers(id, { fromActualFireAt: system.now() - MINUTE })).toHaveLength(
      7,
    );
  });
});
