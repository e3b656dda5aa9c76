import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";

it("lets a tool change the state of its thread only while its run is active", async () => {
  const begun = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<void>();
  const late = Promise.withResolvers<unknown>();
  const slow = createTool({
    id: "slow",
    description: "Keeps working after its run was aborted.",
    execute: async (_input, { threadState }) => {
      await threadState!.update("mood", () => "calm");
      begun.resolve();
      await ended.promise;
      void threadState!.update("mood", () => "angry").then(late.resolve, late.resolve);
      return {};
    },
  });
  const storage = new InMemoryStorage();
  const model = scriptedModel([{ toolCalls: [{ toolName: "slow", input: {} }] }, "Done."]);
  const agent = new Agent({
    name: "a",
    instructions: "x",
    model,
    tools: { slow },
    memory: new Memory({ storage }),
  });
  const stop = new AbortController();
  const stream = await agent.stream("go", {
    memory: { thread: "t", resource: "r" },
    abortSignal: stop.signal,
  });
  const read = stream.consumeStream();
  await begun.promise;
  stop.abort();
  await read;
  const states = (await storage.getStore("threadState"))!;
  ended.resolve();
  await expect(late.promise).resolves.toMatchObject({ code: "superseded" });
  expect(await states.getState({ threadId: "t", type: "mood" })).toMatchObject({ value: "calm" });
});
