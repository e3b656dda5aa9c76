import { describe, expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";

const cron = "0 0 1 1 *";
const timed = { agentId: "helper", prompt: "Report.", cron };
const onThread = { ...timed, threadId: "t1" };

describe("schedules over HTTP", () => {
  test("belong to whom the authoriser names, whatever the request says", async () => {
    const { json } = served(["Hi."], { authorize: byHeader });
    const made = await json("createSchedule", { body: { ...timed, resourceId: "bob" } }, "ann+control");
    expect(made).toMatchObject({ resourceId: "ann", status: "active", nextFireAt: expect.any(Number) });
    expect((await json("listSchedules", {}, "ann")).schedules).toHaveLength(1);
    expect((await json("listSchedules", { query: { resourceId: "ann" } }, "bob")).schedules).toEqual([]);
  });

  test("need the grant signals for what a model trusts more than its user", async () => {
    const { call } = served(["Hi."], { authorize: byHeader });
    const status = async (body: object, as: string) =>
      (await call("createSchedule", { body: { ...onThread, ...body } as never }, as)).status;
    expect(await status({}, "ann+control")).toBe(403);
    expect(await status({ signalType: "reactive" }, "ann+control")).toBe(403);
    expect(await status({ signalType: "user" }, "ann+control")).toBe(200);
    expect(await status({}, "ann+control,signals")).toBe(200);
  });

  test("cannot become a system's signal by a change", async () => {
    const { json, call } = served(["Hi."], { authorize: byHeader });
    const user = { ...onThread, signalType: "user" as const };
    const { id } = await json("createSchedule", { body: user }, "ann+control");
    const change = (body: object, as: string) =>
      call("updateSchedule", { params: { scheduleId: id }, body: body as never }, as);
    expect((await change({ prompt: "Other." }, "ann+control")).status).toBe(200);
    expect((await change({ signalType: "reactive" }, "ann+control")).status).toBe(403);
    expect((await change({ signalType: "reactive" }, "ann+control,signals")).status).toBe(200);
    expect((await change({ prompt: "Again." }, "ann+control")).status).toBe(403);
  });

  test("do not reach the thread of another", async () => {
    const { call, json } = served(["Hi."], { authorize: byHeader });
    await json("createThread", { body: { threadId: "t1" } }, "ann");
    const response = await call("createSchedule", { body: onThread }, "bob+control,signals");
    expect(response.status).toBe(404);
  });

  test("of the app are for callers with the grant inspect", async () => {
    const { mastra, json, call } = served(["Hi."], { authorize: byHeader });
    await mastra.schedules.create({ ...timed, id: "ours" });
    const params = { scheduleId: "ours" };
    expect((await json("listSchedules", {}, "ann+control")).schedules).toEqual([]);
    expect((await call("getSchedule", { params }, "ann+control")).status).toBe(404);
    expect((await call("pauseSchedule", { params }, "ann+control")).status).toBe(404);
    expect((await json("listSchedules", {}, "ann+inspect")).schedules).toMatchObject([{ id: "ours" }]);
    expect((await call("pauseSchedule", { params }, "ann+inspect")).status).toBe(403);
    expect(await json("pauseSchedule", { params }, "ann+inspect,control")).toMatchObject({
      status: "paused",
    });
  });

  test("carry the caller's request context, and nothing that identifies another", async () => {
    const authorize = () => ({
      resourceId: "ann",
      grants: "all" as const,
      requestContext: { tier: "gold", session: new Map() },
    });
    const { json } = served(["Hi."], { authorize });
    const requestContext = { tier: "free", note: { a: 1 }, mastra__resourceId: "bob" };
    const made = await json("createSchedule", { body: { ...timed, requestContext } });
    expect(made.requestContext).toEqual({ tier: "gold", note: { a: 1 } });
  });

  test("have ids per caller: no one takes or learns another's", async () => {
    const { json, call } = served(["Hi."], { authorize: byHeader });
    const create = (as: string) => json("createSchedule", { body: { ...timed, id: "daily" } }, as);
    const [ann, bob] = [await create("ann+control"), await create("bob+control")];
    expect([ann, bob]).toMatchObject([{ resourceId: "ann" }, { resourceId: "bob" }]);
    expect(ann.id).not.toBe(bob.id);
    const again = await call("createSchedule", { body: { ...timed, id: "daily" } }, "ann+control");
    expect(again.status).toBe(409);
    expect(await again.text()).toContain('\\"daily\\"');
    for (const scheduleId of ["daily", bob.id]) {
      const params = { scheduleId };
      expect(await json("getSchedule", { params }, "bob")).toMatchObject({ id: bob.id });
      expect(await json("pauseSchedule", { params }, "bob+control")).toMatchObject({ status: "paused" });
      expect((await json("listScheduleTriggers", { params }, "bob")).triggers).toEqual([]);
    }
    expect((await call("getSchedule", { params: { scheduleId: ann.id } }, "bob+control")).status).toBe(404);
    await json("deleteSchedule", { params: { scheduleId: "daily" } }, "bob+control");
    expect((await json("listSchedules", {}, "bob")).schedules).toEqual([]);
    expect((await json("listSchedules", {}, "ann")).schedules).toMatchObject([{ status: "active" }]);
  });

  test("are limited per caller, also those that arrive together", async () => {
    const { json, call } = served(["Hi."], { authorize: byHeader, limits: { schedulesPerResource: 3 } });
    const create = async (as: string) => (await call("createSchedule", { body: timed }, as)).status;
    const all = await Promise.all(Array.from({ length: 8 }, () => create("ann+control")));
    expect(all.toSorted((a, b) => a - b)).toEqual([200, 200, 200, 429, 429, 429, 429, 429]);
    expect(await create("bob+control")).toBe(200);
    const [first] = (await json("listSchedules", {}, "ann")).schedules;
    await json("deleteSchedule", { params: { scheduleId: first!.id } }, "ann+control");
    expect(await create("ann+control")).toBe(200);
  });

  test("of a caller fire at most once a minute; the app's own may fire each second", async () => {
    const { call, json } = served(["Hi."], { authorize: byHeader });
    const status = async (cron: string) =>
      (await call("createSchedule", { body: { ...timed, cron } }, "ann+control")).status;
    expect(await status("* * * * * *")).toBe(400);
    expect(await status("0,30 * * * * *")).toBe(400);
    expect(await status("*/5 * * * * * 2030")).toBe(400);
    expect(await status("30 * * * * *")).toBe(200);
    expect(await status("* * * * *")).toBe(200);
    const { id } = await json("createSchedule", { body: timed }, "ann+control");
    const change = { params: { scheduleId: id }, body: { cron: "* * * * * *" } };
    expect((await call("updateSchedule", change, "ann+control")).status).toBe(400);
    const local = served(["Hi."]);
    expect((await local.call("createSchedule", { body: { ...timed, cron: "* * * * * *" } })).status).toBe(
      200,
    );
  });

  test.each([
    [{ ...timed, cron: "whenever" }, "whenever"],
    [{ ...timed, timezone: "Mars/North" }, "Mars/North"],
    [{ agentId: "helper", cron }, "prompt"],
    [{ cron }, "workflowId or agentId"],
    [{ ...timed, agentId: "nobody" }, "nobody"],
    [{ workflowId: "none", cron }, "none"],
  ])("refuses %o", async (body, part) => {
    const { call } = served(["Hi."]);
    const response = await call("createSchedule", { body: body as never });
    expect([400, 404]).toContain(response.status);
    expect(await response.text()).toContain(part);
  });
});
