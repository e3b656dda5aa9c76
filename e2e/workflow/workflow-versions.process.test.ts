import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { FlowDef, FlowNode } from "@selvedge/testing/simulator";
import { libsqlStore } from "../kill/libsql-store.ts";
import { flow, step, andThen } from "./flows.ts";
import { WorkflowSession } from "./workflow-session.ts";

const asks = (): FlowNode => andThen(step("s2", { suspends: 1 }));
const FIRST = flow("order", [andThen(step("s1", {})), asks(), andThen(step("s3", {}))]);

describe("a run begun by one version of a program and finished by the next", () => {
  let session: WorkflowSession;
  beforeEach(async () => {
    session = await WorkflowSession.open(libsqlStore(), 1);
  });
  afterEach(() => session.close());

  /** Begins with one version, which ends; resumes with another. */
  async function upgrade(next: FlowDef) {
    const old = session.open([FIRST]);
    await old.ready;
    const run = await session.start(old, FIRST);
    expect((await session.resting(old, run))?.status).toBe("suspended");
    await old.kill();
    const updated = session.open([next]);
    await updated.ready;
    const request = await session.resume(updated, run, "s2");
    return { run, request, updated, stored: await session.resting(updated, run) };
  }

  it("uses the code of the next version for steps that have not run, and no others", async () => {
    const { stored } = await upgrade(
      flow("order", [andThen(step("s1", { fails: 1 })), asks(), andThen(step("s3", { sets: "set-s3" }))]),
    );
    expect(stored?.status).toBe("success");
    expect(stored?.state).toHaveProperty("set-s3");
  });

  it("runs a step that was added after the place where it waits", async () => {
    const { stored } = await upgrade(flow("order", [...FIRST.nodes, andThen(step("s4", {}))]));
    expect(stored?.status).toBe("success");
    expect(stored?.result).toMatchObject({ id: "s4" });
  });

  it("keeps the results of steps that were removed, if nothing needs them", async () => {
    const { stored } = await upgrade(flow("order", FIRST.nodes.slice(0, 2)));
    expect(stored?.status).toBe("success");
    expect(stored?.result).toMatchObject({ id: "s2" });
  });

  it("refuses to resume a step that the next version does not have, says which, and changes nothing", async () => {
    const { stored, request } = await upgrade(flow("order", [FIRST.nodes[0]!, FIRST.nodes[2]!]));
    expect(request.outcome).toBe("refused");
    expect(stored?.status).toBe("suspended");
  });

  it("can be finished by the old version after the next one refused", async () => {
    const { run, updated } = await upgrade(flow("order", [FIRST.nodes[0]!, FIRST.nodes[2]!]));
    await updated.kill();
    const old = session.open([FIRST]);
    await old.ready;
    await session.finish(old, run);
    expect(session.problems).toEqual([]);
  });
});
