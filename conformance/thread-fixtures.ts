import assert from "node:assert/strict";
import { Agent, type AgentConfig, type NumberedChunk } from "@selvedge/core/agent";
import { InMemoryStorage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { type ScriptedModel, type ScriptedReply, scriptedModel } from "@selvedge/testing";

export interface Target {
  resourceId: string;
  threadId: string;
}

/** The thread that the blocks of each document write to. */
export const THREAD_1: Target = { resourceId: "user-123", threadId: "thread-abc" };
export const THREAD_2: Target = { resourceId: "user_123", threadId: "thread_456" };

/** Makes the block a function, to be called when things are as its text says, and more than once. */
export const CALLED: { before: string; after: string } = {
  before: "export const documented = async () => {",
  after: "};",
};

/** An agent with memory of its own. Its model answers from the replies, then in words; `hold` stops it on its next call. */
export function threadAgent(replies: ScriptedReply[] = [], config: Partial<AgentConfig> = {}) {
  const memory = new Memory({ storage: new InMemoryStorage() });
  let gate: { reached: () => void; opened: Promise<void> } | undefined;
  const model = scriptedModel(async ({ index }) => {
    const closed = gate;
    gate = undefined;
    closed?.reached();
    await closed?.opened;
    return replies[index] ?? `Answer ${index + 1}.`;
  });
  const agent = new Agent({ name: "weaver", instructions: "Weave.", ...config, model, memory });
  const hold = () => {
    const reached = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    gate = { reached: reached.resolve, opened: opened.promise };
    return { reached: reached.promise, go: opened.resolve };
  };
  return { agent, model, memory, hold };
}

/** Wakes the thread and answers when its model is being asked; `go` lets the model answer. */
export async function startRun({ agent, hold }: ReturnType<typeof threadAgent>, target: Target) {
  const { reached, go } = hold();
  await agent.sendMessage("Begin.", target).admitted;
  await reached;
  return { go };
}

/** All chunks of a thread up to the end of its nth run. */
export async function chunksOf(agent: Agent, target: Target, runs = 1): Promise<NumberedChunk[]> {
  const chunks: NumberedChunk[] = [];
  const { stream } = await agent.subscribeToThread({ ...target, after: 0 });
  for await (const chunk of stream) {
    chunks.push(chunk);
    if (chunk.type === "finish") runs -= 1;
    if (runs === 0) break;
  }
  assert.deepEqual(
    chunks.map((chunk) => chunk.seq),
    chunks.map((_, index) => index + 1),
  );
  return chunks;
}

/** What a model was given to read, apart from its instructions and its own words: one text for each message. */
export function readBy(model: ScriptedModel, call: number): string[] {
  return model.calls[call]!.prompt.flatMap(({ role, content }) =>
    role === "user" ? [content.map((part) => (part.type === "text" ? part.text : "")).join("")] : [],
  );
}

/** Replies that ask for the same tool again and again. */
export function restless(toolName: string): ScriptedReply[] {
  return Array.from({ length: 9 }, () => ({ toolCalls: [{ toolName, input: {} }] }));
}
