import { virtualSystem, type VirtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Mastra } from "../mastra/mastra.ts";
import { Mortal } from "../storage/__fixtures__/mortal.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { createStep } from "../workflow/create-step.ts";
import type { WorkflowSchedule } from "../workflow/workflow-config.ts";
import { createWorkflow } from "../workflow/workflow.ts";
import { HOUR, HOURLY, MINUTE, scheduled } from "./__fixtures__/scheduled.ts";

type Schedule = WorkflowSchedule | WorkflowSchedule[];

interface Options {
  system?: VirtualSystem;
  storage?: Storage;
  schedule?: Schedule;
  ran?: string[];
}

/** A host with a workflow that notes each execution. */
function hosted({ system = virtualSystem(), storage, schedule, ran = [] }: Options = {}) {
  const store = storage ?? new InMemoryStorage({ system });
  const note = createStep({
    id: "note",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.string(),
    stateSchema: z.object({ count: z.number().optional() }),
    execute: async ({ inputData, state, requestContext, runId }) => {
      ran.push(runId);
      return `${inputData.name} ${state.count ?? 0} ${String(requestContext.get("team"))}`;
    },
  });
  const workflow = createWorkflow({
    id: "report",
    inputSchema: z.object({ name: z.string() }),
    outputSchema: z.string(),
    stateSchema: z.object({ count: z.number().optional() }),
    ...(schedule && { schedule }),
  })
    .then(note)
    .commit();
  const mastra = new Mastra({ workflows: { workflow }, storage: store, system, logger: false });
  return { mastra, system, storage: store, workflow, ran };
}

const MORNING = { cron: HOURLY, inputData: { name: "ann" }, timezone: "UTC" };

describe("a schedule of a workflow", () => {
  it("starts a run with its input, state and request context", async () => {
    const { mastra, system, workflow } = hosted();
    const { id } = await mastra.schedules.create({
      workflowId: "report",
      ...MORNING,
      initialState: { count: 3 },
      requestContext: { team: "blue" },
      resourceId: "ann",
    });
    await system.advance(6 * MINUTE);
    const [trigger] = await mastra.schedules.listTriggers(id);
    expect(trigger).toMatchObject({ outcome: "published", runId: expect.any(String) });
    const run = await workflow.getWorkflowRunById(trigger!.runId!);
    expect(run).toMatchObject({ status: "success", result: "ann 3 blue", resourceId: "ann" });
  });

  it("records an input that does not fit, and goes on", async () => {
    const { mastra, system, ran } = hosted();
    const { id } = await mastra.schedules.create({
      workflowId: "report",
      ...MORNING,
      inputData: { name: 1 },
    });
    await system.advance(HOUR);
    expect(await mastra.schedules.listTriggers(id)).toMatchObject([{ outcome: "failed", runId: null }]);
    expect(ran).toEqual([]);
    await mastra.schedules.update(id, { inputData: { name: "ann" } });
    await system.advance(HOUR);
    expect(ran).toHaveLength(1);
  });

  it("is executed once by three processes", async () => {
    const system = virtualSystem();
    const storage = new InMemoryStorage({ system });
    const ran: string[] = [];
    const hosts = [1, 2, 3].map(() => hosted({ system, storage, schedule: MORNING, ran }).mastra);
    await Promise.all(hosts.map((host) => host.start()));
    await system.advance(3 * HOUR);
    expect(ran).toHaveLength(3);
    expect(new Set(ran).size).toBe(3);
    expect(await hosts[0]!.schedules.listTriggers("wf_report")).toHaveLength(3);
  });

  it("is fired once by a process that dies at any commit and by the next", { timeout: 120_000 }, async () => {
    for (const after of [false, true]) {
      for (let commit = 0, died = true; died; commit++) {
        const system = virtualSystem();
        const shared = new InMemoryStorage({ system });
        const dead = new Set<string>();
        const first = new Mortal(shared, "first", dead, system, commit, after);
        void hosted({ system, storage: first, schedule: MORNING }).mastra.start();
        await system.advance(6 * MINUTE);
        died = first.dead;
        dead.add("first");
        const second = new Mortal(shared, "second", dead, system, Number.POSITIVE_INFINITY, after);
        const other = hosted({ system, storage: second, schedule: MORNING });
        await system.until(other.mastra.start());
        await system.advance(2 * MINUTE);
        const { runs } = await other.workflow.listWorkflowRuns();
        const place = `commit ${commit} ${after ? "after" : "before"}`;
        const triggers = await other.mastra.schedules.listTriggers("wf_report");
        // A process that died before the schedule was stored had nothing to fire.
        expect(triggers.length, place).toBe(runs.length);
        expect(runs.length, place).toBeLessThanOrEqual(1);
        for (const { snapshot } of runs) expect(snapshot.status, place).toBe("success");
        if (!died) expect(runs).toHaveLength(1);
      }
    }
  });
});

describe("schedules in the code of a workflow", () => {
  it("are stored under the ids of the workflow and of the schedule", async () => {
    const one = hosted({ schedule: MORNING });
    await one.mastra.start();
    expect(await one.mastra.schedules.list()).toMatchObject([
      { id: "wf_report", workflowId: "report", declared: true, cron: HOURLY, inputData: { name: "ann" } },
    ]);
    const schedule = [
      { id: "a", ...MORNING },
      { id: "b", ...MORNING },
    ];
    const two = hosted({ schedule });
    await two.mastra.start();
    expect((await two.mastra.schedules.list()).map(({ id }) => id)).toEqual(["wf_report__a", "wf_report__b"]);
  });

  it("stay paused through a new version, and change with it", async () => {
    const { system, storage, mastra } = hosted({ schedule: MORNING });
    await mastra.start();
    await mastra.schedules.pause("wf_report");
    const next = hosted({ system, storage, schedule: { ...MORNING, cron: "0 12 * * *" } });
    await next.mastra.start();
    const seen = await next.mastra.schedules.get("wf_report");
    expect(seen).toMatchObject({ status: "paused", cron: "0 12 * * *" });
    expect(seen!.nextFireAt).toBeUndefined();
    const resumed = await next.mastra.schedules.resume("wf_report");
    expect(resumed.nextFireAt).toBe(system.now() + 4 * HOUR);
  });

  it("keep their time when only the input changes, and get a new one with the pattern", async () => {
    const { system, storage, mastra } = hosted({ schedule: MORNING });
    await mastra.start();
    const { nextFireAt } = (await mastra.schedules.get("wf_report"))!;
    await hosted({ system, storage, schedule: { ...MORNING, inputData: { name: "bob" } } }).mastra.start();
    expect(await mastra.schedules.get("wf_report")).toMatchObject({ nextFireAt, inputData: { name: "bob" } });
    await hosted({ system, storage, schedule: { ...MORNING, timezone: "Asia/Kolkata" } }).mastra.start();
    expect((await mastra.schedules.get("wf_report"))!.nextFireAt).not.toBe(nextFireAt);
  });

  it("go with the code, and only they", async () => {
    const { system, storage, mastra } = hosted({ schedule: MORNING });
    await mastra.start();
    await mastra.schedules.create({ id: "mine", workflowId: "report", ...MORNING });
    await hosted({ system, storage }).mastra.start();
    expect((await mastra.schedules.list()).map(({ id }) => id)).toEqual(["mine"]);
  });

  it("of a workflow that another program has are left to it, until no one has fired them for a day", async () => {
    const system = virtualSystem();
    const storage = new InMemoryStorage({ system });
    const dead = new Set<string>();
    const first = new Mortal(storage, "first", dead, system, Number.POSITIVE_INFINITY, false);
    await hosted({ system, storage: first, schedule: MORNING }).mastra.start();
    dead.add("first");
    const start = async () => {
      const other = new Mastra({ storage, system, logger: false });
      await other.start();
      return (await other.schedules.list()).map(({ id }) => id);
    };
    expect(await start()).toEqual(["wf_report"]);
    system.clockOffset += 26 * HOUR;
    expect(await start()).toEqual([]);
  });

  it("can be paused, but not updated or deleted", async () => {
    const { mastra } = hosted({ schedule: MORNING });
    await mastra.start();
    await expect(mastra.schedules.update("wf_report", { cron: HOURLY })).rejects.toMatchObject({
      code: "conflict",
    });
    await expect(mastra.schedules.delete("wf_report")).rejects.toMatchObject({ code: "conflict" });
    expect(await mastra.schedules.pause("wf_report")).toMatchObject({ status: "paused" });
  });

  it("of a workflow that is added later are stored, too", async () => {
    const { system, mastra } = hosted();
    await mastra.start();
    const { workflow } = hosted({ system, storage: new InMemoryStorage({ system }), schedule: MORNING });
    const renamed = createWorkflow({ ...workflow.config, id: "late" });
    renamed.copyFrom(workflow);
    await mastra.addWorkflow(renamed);
    await system.advance(1);
    expect((await mastra.schedules.list()).map(({ id }) => id)).toEqual(["wf_late"]);
  });

  const BAD: [Schedule, string][] = [
    [{ cron: "whenever" }, `schedule.cron must be a cron pattern with 5, 6 or 7 fields, got "whenever"`],
    [{ cron: HOURLY, timezone: "Mars/North" }, `"Mars/North"`],
    [[{ cron: HOURLY }], "needs an id"],
    [
      [
        { id: "a", cron: HOURLY },
        { id: "a", cron: HOURLY },
      ],
      "two schedules",
    ],
    [[{ id: "a", cron: "99 * * * *" }], "schedule[0].cron"],
    [{ cron: HOURLY, inputData: { a: new Set() } }, `"a"`],
  ];
  it.each(BAD)("%j is refused when the workflow is created", (schedule, part) => {
    expect(() => hosted({ schedule })).toThrow(
      expect.objectContaining({ code: "invalid-argument", message: expect.stringContaining(part) }),
    );
  });
});

describe("a schedule that is deleted while others fire", () => {
  it("does not fire any more", async () => {
    const io = { inputSchema: z.any(), outputSchema: z.any() };
    const log: unknown[] = [];
    const note = createStep({
      id: "note",
      ...io,
      execute: async ({ inputData }) => void log.push(inputData),
    });
    // Each deletes the other before it starts.
    const onStart = async ({ getInitData }: { getInitData: () => unknown }): Promise<void> => {
      await world.mastra.schedules.delete(getInitData() === "a" ? "b" : "a");
    };
    const workflow = createWorkflow({ id: "noting", ...io, options: { onStart } })
      .then(note)
      .commit();
    const world = await scheduled({ config: { workflows: { workflow } } });
    for (const id of ["a", "b"])
      await world.mastra.schedules.create({ id, workflowId: "noting", cron: HOURLY, inputData: id });
    await world.system.advance(10 * MINUTE);
    expect(log).toHaveLength(1);
  });
});
