import { scriptedModel } from "@selvedge/testing";
import { Memory } from "@selvedge/memory";
import { expect, it } from "vitest";
import { Agent } from "../../agent/agent.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { OWNERS } from "../../storage/thread-tables.ts";
import { insert } from "../../storage/writes.ts";
import { listWorkers } from "./list-workers.ts";

it("lists a process with its runs and its last beat", async () => {
  const storage = new InMemoryStorage();
  await storage.init();
  expect(await listWorkers(storage)).toEqual([]);
  const gate = Promise.withResolvers<string>();
  const agent = new Agent({
    id: "agent",
    name: "agent",
    instructions: "Answer.",
    model: scriptedModel(() => gate.promise),
    memory: new Memory({ storage }),
  });
  const before = Date.now();
  const { runId } = agent.sendMessage("Hello?", { threadId: "t", resourceId: "r" });
  await expect
    .poll(async () => (await listWorkers(storage)).flatMap(({ runs }) => runs))
    .toEqual([{ runId, agentId: "agent", threadId: "t", resourceId: "r" }]);
  const [self] = await listWorkers(storage);
  expect(self).toMatchObject({ id: storage.ownerId(), isSelf: true });
  expect(self!.lastBeat!.getTime()).toBeGreaterThanOrEqual(before);
  expect(self!.lastBeat!.getTime()).toBeLessThanOrEqual(Date.now());
  gate.resolve("Hello.");
  await expect.poll(async () => (await listWorkers(storage))[0]!.runs).toEqual([]);
  await storage.close();
});

it("shows which processes have closed", async () => {
  const storage = new InMemoryStorage();
  await storage.init();
  await storage.commit([
    insert(OWNERS, { id: "closed", lease_until: 0 }),
    insert(OWNERS, { id: "live", lease_until: 5 }),
  ]);
  expect(await listWorkers(storage)).toEqual([
    { id: "live", isSelf: false, lastBeat: new Date(5), runs: [] },
    { id: "closed", isSelf: false, lastBeat: undefined, runs: [] },
  ]);
});
