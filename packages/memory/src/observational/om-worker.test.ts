import { insert, InMemoryStorage, OM_DOMAIN, OM_EVENTS, OM_JOBS } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { LONG, omRows, omWorld, waitingEvents } from "../__fixtures__/om-world.ts";
import { insertObservation } from "./om-job-rows.ts";

/** More than a worker reads at a time. */
const MANY = 450;

describe("a process with many waiting jobs", () => {
  it("reaches its own jobs behind many that it cannot do", async () => {
    const storage = new InMemoryStorage();
    await storage.domain(OM_DOMAIN);
    const facts = { now: 0, tokens: 1, waited: false, toId: "gone" };
    await storage.commit(
      Array.from({ length: MANY }, (_, at) => {
        const address = { scope: "thread" as const, threadId: `other ${at}`, resourceId: "ada" };
        return insertObservation({ ...facts, address, agentId: "elsewhere", afterId: null });
      }).flat(),
    );
    // Of its own agent, but behind a job that has failed.
    const address = { scope: "thread" as const, threadId: "busy", resourceId: "ada" };
    await storage.commit(
      Array.from({ length: MANY }, (_, at) =>
        insertObservation({ ...facts, address, agentId: "a", afterId: String(at) }),
      ).flat(),
    );
    await storage.commit([
      {
        op: "update",
        table: OM_JOBS as never,
        where: { thread_id: "busy", id: "busy\n\nobserve\n0" },
        set: { state: "failed" },
      },
    ]);
    const world = omWorld({ storage });
    await world.turn(`question ${LONG} ${LONG}`);
    expect((await omRows(storage)).chunks).toHaveLength(1);
    await world.agent.close();
  });

  it("puts chunks on their streams behind many whose threads are gone", async () => {
    const storage = new InMemoryStorage();
    await storage.domain(OM_DOMAIN);
    const chunk = { type: "data-om-activation", runId: "c", from: "AGENT", data: {} };
    await storage.commit(
      Array.from({ length: MANY }, (_, at) =>
        insert(OM_EVENTS, {
          id: `e${at}`,
          thread_id: `t${at}`,
          source: `t${at}`,
          source_resource: "ada",
          chunk,
        }),
      ),
    );
    const world = omWorld({ storage });
    await world.turn(`question ${LONG} ${LONG}`);
    expect(await waitingEvents(storage)).toBe(0);
    await world.agent.close();
  });
});
