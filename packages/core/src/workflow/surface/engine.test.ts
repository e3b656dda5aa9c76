import { RequestContext } from "@selvedge/core/request-context";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { asking, flow, PLACES, start, step } from "./__fixtures__/rig.ts";

describe.each(PLACES)("a run %s", (place) => {
  it("executes one step per call with perStep, also across a sleep", async () => {
    const executed: string[] = [];
    const named = (id: string) => step(id, () => void executed.push(id));
    const workflow = flow().then(named("a")).sleep(1_000).then(named("b")).then(named("c")).commit();
    const { run, system, result } = await start(place, workflow, 1, { perStep: true });
    expect([result.status, executed]).toEqual(["paused", ["a"]]);
    for (let call = 2; executed.length < 3 && call < 10; call++) {
      const before = executed.length;
      await system.until(run.resume({ perStep: true }));
      expect(executed.length - before).toBeLessThanOrEqual(1);
    }
    expect(executed).toEqual(["a", "b", "c"]);
  });

  it("keeps the request context of its start where a resume does not replace it", async () => {
    const workflow = flow()
      .then(asking("gate"))
      .then(step("who", ({ requestContext }) => requestContext.all as unknown))
      .commit();
    const requestContext = new RequestContext<any>([
      ["tenant", "acme"],
      ["user", "ada"],
    ]);
    const { run, system } = await start(place, workflow, 1, { requestContext });
    const again = { resumeData: 1, requestContext: new RequestContext<any>([["user", "bob"]]) };
    expect(await system.until(run.resume(again))).toMatchObject({ result: { tenant: "acme", user: "bob" } });
  });

  it("checks what setState() is given against the schema of the step, or else of the workflow", async () => {
    const stateSchema = z.object({ count: z.number(), name: z.string() });
    const setting = (next: object, more: object = {}) =>
      flow({ stateSchema })
        .then(step("a", ({ setState }) => setState(next), more))
        .commit();
    const options = { outputOptions: { includeState: true } };
    // Keys that are not set yet are no reason to refuse.
    expect((await start(place, setting({ count: 1 }), 1, options)).result).toMatchObject({
      status: "success",
      state: { count: 1 },
    });
    expect((await start(place, setting({ count: "one" }), 1, options)).result).toMatchObject({
      status: "failed",
      error: { code: "invalid-argument", message: expect.stringContaining("count") },
    });
    const own = { stateSchema: z.object({ count: z.number().max(5) }) };
    expect((await start(place, setting({ count: 6 }, own), 1, options)).result).toMatchObject({
      status: "failed",
    });
    expect((await start(place, setting({ count: undefined }), 1, options)).result).toMatchObject({
      status: "success",
    });
  });

  it("calls onFinish and onError of nested workflows when they end", async () => {
    const calls: unknown[] = [];
    const hooks = (id: string) => ({
      id,
      options: {
        onFinish: ({ workflowId, status, result, steps }: any) =>
          void calls.push([workflowId, "finish", status, result, Object.keys(steps)]),
        onError: ({ workflowId, error }: any) => void calls.push([workflowId, "error", error.message]),
      },
    });
    const inner = flow(hooks("inner"))
      .then(step("x", ({ inputData }) => Number(inputData) + 1))
      .commit();
    await start(place, flow(hooks("outer")).then(inner).commit(), 1);
    expect(calls).toEqual([
      ["inner", "finish", "success", 2, ["x"]],
      ["outer", "finish", "success", 2, expect.anything()],
    ]);
    calls.length = 0;
    const failing = flow(hooks("inner"))
      .then(
        step("x", () => {
          throw new Error("no");
        }),
      )
      .commit();
    await start(place, flow(hooks("outer")).then(failing).commit(), 1);
    expect(calls.filter(([id]: any) => id === "inner")).toEqual([
      ["inner", "finish", "failed", undefined, ["x"]],
      ["inner", "error", "no"],
    ]);
    expect(calls.filter(([id]: any) => id === "outer")).toHaveLength(2);
  });

  it("calls onFinish and onError of a nested workflow once, however many of its steps fail", async () => {
    const calls: unknown[] = [];
    const inner = flow({
      id: "inner",
      options: {
        onFinish: ({ status, steps }: any) => void calls.push(["finish", status, Object.keys(steps)]),
        onError: ({ error }: any) => void calls.push(["error", error.message]),
      },
    });
    const fail = (id: string) => step(id, () => Promise.reject(new Error(id)));
    const late = step("late", async ({ bail }) => {
      await Promise.resolve();
      return bail("over");
    });
    await start(
      place,
      flow()
        .then(inner.parallel([fail("x"), fail("y"), late]).commit())
        .commit(),
      1,
    );
    expect(calls).toEqual([
      ["finish", "failed", ["x", "y", "late"]],
      ["error", "x"],
    ]);
  });

  it("calls onError of a nested workflow whose loop has no end", async () => {
    const calls: unknown[] = [];
    const options = { maxIterations: 2, onError: ({ error }: any) => void calls.push(error.code) };
    const inner = flow({ id: "inner", options })
      .dowhile(
        step("x", () => 1),
        () => true,
      )
      .commit();
    await start(place, flow().then(inner).commit(), 1);
    expect(calls).toEqual(["limit-exceeded"]);
  });
});
