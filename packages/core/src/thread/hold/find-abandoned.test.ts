import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { Agent } from "../../agent/agent.ts";
import { ACTORS, OWNERS } from "../../storage/thread-tables.ts";
import { remove } from "../../storage/writes.ts";
import { processes } from "../../workflow/__fixtures__/processes.ts";

it("takes over a run whose owner left no trace: its commit took effect after it was forgotten", async () => {
  const { system, open } = processes();
  const agent = (reply: () => string | Promise<string>) =>
    new Agent({
      id: "a",
      name: "a",
      instructions: "Answer.",
      model: scriptedModel(reply),
      memory: new Memory(),
    });
  const second = open("second", [], [agent(() => "Hello.")]);
  await system.until(second.mastra.start());
  const first = open("first", [], [agent(() => new Promise<never>(() => {}))]);
  const sent = first.mastra.getAgentById("a").sendMessage("Hello?", { threadId: "t", resourceId: "r" });
  await system.until(sent.admitted);
  await system.advance(100);
  const actor = async () => (await second.storage.select({ table: ACTORS }))[0];
  expect(await actor()).toMatchObject({ run_state: "running", owner: first.storage.ownerId() });
  first.kill();
  await second.storage.commit([remove(OWNERS, { id: first.storage.ownerId() })]);
  await system.advance(60_000);
  expect(await actor()).toMatchObject({ run_state: "idle", owner: null });
  await system.until(second.mastra.close());
});
