import { describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { chunksOf } from "./__fixtures__/agent-with.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

const details = (title: string, metadata: Record<string, unknown>) => ({
  memory: { thread: { id: HERE.threadId, title, metadata }, resource: HERE.resourceId },
});

describe("title and metadata of memory.thread", () => {
  it("apply to a thread that exists, metadata by key", async () => {
    const { agent, memory } = onThread(() => "ok");
    await agent.generate("hi", details("One", { a: 1, b: { x: 1 } }));
    await agent.generate("hi", details("Two", { b: { y: 2 }, c: 3 }));
    const stored = await memory.getThreadById(HERE);
    expect(stored).toMatchObject({ title: "Two", metadata: { a: 1, c: 3 } });
    expect(stored!.metadata!["b"]).toMatchObject({ y: 2 });
    await agent.generate("hi", { memory: { thread: HERE.threadId, resource: HERE.resourceId } });
    expect(await memory.getThreadById(HERE)).toMatchObject({ title: "Two", metadata: { a: 1, c: 3 } });
    await agent.generate("hi", details("Two", { a: null }));
    expect((await memory.getThreadById(HERE))!.metadata).not.toHaveProperty("a");
  });

  it.each(["sendMessage", "queueMessage", "sendSignal"] as const)(
    "apply to a thread that %s opens",
    async (send) => {
      const { agent, memory, idle } = onThread(() => "ok");
      const message = { type: "user" as const, contents: "hi" };
      const to = (title: string, metadata: Record<string, unknown>) => ({
        ...HERE,
        ifIdle: { streamOptions: details(title, metadata) },
      });
      await agent[send](message, to("One", { a: 1 })).admitted;
      await idle();
      expect(await memory.getThreadById(HERE)).toMatchObject({ title: "One", metadata: { a: 1 } });
      await agent[send](message, to("Two", { b: 2 })).admitted;
      await idle();
      expect(await memory.getThreadById(HERE)).toMatchObject({ title: "Two", metadata: { a: 1, b: 2 } });
    },
  );

  it("apply where another process opens the run", async () => {
    const storage = new InMemoryStorage();
    const ask = createTool({ id: "ask", description: "", requireApproval: true, execute: async () => "ok" });
    const script = ({ index }: { index: number }) =>
      index === 0 ? { toolCalls: [{ toolName: "ask", input: {} }] } : "ok";
    const first = onThread(script, { storage, tools: { ask } });
    await chunksOf(await first.agent.stream("hi", ON));
    const streamOptions = details("One", { a: 1 });
    await first.agent.queueMessage("later", { ...HERE, ifIdle: { streamOptions } }).admitted;
    const second = onThread(() => "ok", { storage, tools: { ask } });
    await second.agent.sendToolApproval({ ...HERE, approved: true });
    await second.idle();
    expect(await second.memory.getThreadById(HERE)).toMatchObject({ title: "One", metadata: { a: 1 } });
  });

  it("are refused when they are not what they should be", async () => {
    const { agent } = onThread(() => "ok");
    await expect(agent.generate("hi", details(5 as never, {}))).rejects.toMatchObject({
      code: "invalid-argument",
    });
    const to = (metadata: unknown) => ({
      ...HERE,
      ifIdle: { streamOptions: details("One", metadata as never) },
    });
    for (const metadata of ["x", { a: 1n }])
      expect(() => agent.sendMessage("hi", to(metadata))).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
  });
});
