import type { ScriptedReply } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { toModelMessages } from "../message/to-model-messages.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";

const reply: ScriptedReply = {
  reasoning: ["hm", "m"],
  text: ["Let me", " look."],
  toolCalls: [
    { toolName: "t", input: { a: 1 } },
    { toolName: "missing", input: {} },
  ],
};
/** stream-start, 4 of reasoning, 4 of text, 4 for each call, finish. */
const PARTS = 18;
const TERMINAL = new Set(["finish", "error", "abort"]);
const t = createTool({ id: "t", description: "", execute: async () => "ok" });
const thread = { memory: { thread: "t", resource: "r" } };

async function survives(fault: ScriptedReply, options: object = {}): Promise<void> {
  const storage = new InMemoryStorage();
  const { agent } = agentWith(({ index }) => (index === 0 ? fault : "well again"), {
    tools: { t },
    memory: bareMemory(storage),
  });
  const output = await agent.stream("go", {
    ...thread,
    maxSteps: 1,
    maxRetries: 0,
    limits: { chunkMs: 15, firstChunkMs: 15 },
    ...options,
  });
  const chunks = await chunksOf(output);
  expect(chunks.filter((chunk) => TERMINAL.has(chunk.type))).toHaveLength(1);
  expect(TERMINAL.has(chunks.at(-1)!.type)).toBe(true);
  const domain = (await storage.getStore("memory"))!;
  const stored = await domain.recentMessages({ threadId: "t", limit: 50 });
  expect(stored[0]!.role).toBe("user");
  if (output.status !== "success" && stored.length > 1)
    expect(stored[1]!.content.metadata).toMatchObject({ incomplete: true });
  const parts = stored
    .flatMap(toModelMessages)
    .flatMap((message): { type: string; toolCallId?: string }[] =>
      typeof message.content === "string" ? [] : message.content,
    );
  const ids = (type: string) => parts.filter((part) => part.type === type).map((part) => part.toolCallId);
  expect(ids("tool-result")).toEqual(ids("tool-call"));
  expect((await agent.generate("and now?", thread)).text).toBe("well again");
}

describe("a model that fails at any point of its reply", () => {
  const indexes = Array.from({ length: PARTS + 1 }, (_, index) => index);

  it("by breaking leaves a terminal chunk, a well-formed history and a free thread", async () => {
    for (const errorAfter of indexes) await survives({ ...reply, error: new Error("broke"), errorAfter });
  });

  it("by stopping does too", async () => {
    for (const cutAfter of indexes) await survives({ ...reply, cutAfter });
  });

  it("by falling silent does too", async () => {
    await Promise.all(indexes.map((after) => survives({ ...reply, hang: { after } })));
  });

  it("and so does an abort at any chunk", async () => {
    for (const at of indexes) {
      const controller = new AbortController();
      let seen = 0;
      const onChunk = () => {
        if (seen++ === at) controller.abort();
      };
      await survives({ ...reply, chunkDelayMs: 0 }, { abortSignal: controller.signal, onChunk });
    }
  });
});
