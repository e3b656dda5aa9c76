import { scriptedModel, virtualSystem } from "@selvedge/testing";
import { Memory } from "@selvedge/memory";
import { expect, it } from "vitest";
import { Agent } from "../../agent/agent.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";

it("ends the work of its runtime when a store is closed under it, without trying again and again", async () => {
  const system = virtualSystem();
  const storage = new InMemoryStorage({ system });
  const logged: string[] = [];
  const note = (message: string) => void logged.push(message);
  const agent = new Agent({
    name: "a",
    instructions: "",
    model: scriptedModel(() => "hi"),
    memory: new Memory({ storage }),
    system,
    logger: { debug: () => {}, info: () => {}, warn: note, error: note },
  });
  await agent.generate("hello", { memory: { thread: "t", resource: "r" } });
  await agent.recover();
  await storage.close();
  for (let minute = 0; minute < 10; minute++) await system.advance(60_000);
  expect(logged.length).toBeLessThanOrEqual(1);
  expect(system.pending).toBe(0);
});
