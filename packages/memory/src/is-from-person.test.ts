import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Memory } from "./memory.ts";

describe("Messages that people send into a thread", () => {
  it("give it a title, as the input of a run does", async () => {
    const title = scriptedModel(["Rye bread"]);
    const memory = new Memory({ storage: new InMemoryStore(), options: { generateTitle: { model: title } } });
    const agent = new Agent({ name: "a", instructions: "", model: scriptedModel(["Slowly."]), memory });
    const target = { threadId: "t", resourceId: "r" };
    const { stream } = await agent.subscribeToThread(target);
    agent.sendMessage("How do I bake rye bread?", target);
    for await (const chunk of stream) if (chunk.type === "finish") break;
    await expect.poll(async () => (await memory.getThreadById({ threadId: "t" }))?.title).toBe("Rye bread");
    expect(JSON.stringify(title.calls[0]?.prompt)).toContain("How do I bake rye bread?");
  });
});
