import { Agent } from "@selvedge/core/agent";
import type { MemoryConfig } from "@selvedge/core/memory";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { conversation, texts } from "./__fixtures__/run-processors.ts";
import { type Stores, STORES } from "./__fixtures__/stores.ts";
import { wordEmbedder } from "./__fixtures__/word-embedder.ts";
import { Memory } from "./memory.ts";

const ada = { thread: "t", resource: "ada" };

describe.each(STORES)("an agent with memory on %s", (_name, open) => {
  let stores: Stores;
  beforeEach(async () => {
    stores = await open();
  });
  afterEach(() => stores.close());

  function agentWith(
    options: MemoryConfig,
    script: Script,
  ): { agent: Agent; memory: Memory; model: ScriptedModel } {
    const { storage, vector } = stores;
    const memory = new Memory({ storage, vector, embedder: wordEmbedder(), options });
    const model = scriptedModel(script);
    const agent = new Agent({ id: "a", name: "a", instructions: "Be kind.", model, memory });
    return { agent, memory, model };
  }

  /** What the model was sent in its call number `at`, with the instructions and times left out. */
  function prompt(model: ScriptedModel, at: number): string[] {
    return model.calls[at]!.prompt.map(({ role, content }) => {
      const text =
        typeof content === "string"
          ? content
          : content.map((part) => ("text" in part ? part.text : part.type)).join("");
      return `${role}: ${text}`;
    });
  }

  it("remembers the first turn in the second", async () => {
    const { agent, model } = agentWith({}, ["Hello Ada", "Ada, of course"]);
    await agent.generate("I am Ada", { memory: ada });
    const { text } = await agent.generate("Who am I?", { memory: ada });
    expect(text).toBe("Ada, of course");
    expect(prompt(model, 1)).toEqual([
      "system: Be kind.",
      "user: I am Ada",
      "assistant: Hello Ada",
      "user: Who am I?",
    ]);
  });

  it("shows the tool calls of the first turn with their results", async () => {
    const options: MemoryConfig = { workingMemory: { enabled: true } };
    const call = { toolName: "updateWorkingMemory", input: { memory: "# Ada" } };
    const { agent, model } = agentWith(options, [{ toolCalls: [call] }, "Noted", "Yes"]);
    await agent.generate("I am Ada", { memory: ada });
    await agent.generate("And?", { memory: ada });
    expect(prompt(model, 2).slice(2)).toEqual([
      "user: I am Ada",
      "assistant: tool-call",
      "tool: tool-result",
      "assistant: Noted",
      "user: And?",
    ]);
  });

  it("starts afresh on another thread, and keeps people apart", async () => {
    const { agent, model } = agentWith({}, ["Hello Ada", "Hello"]);
    await agent.generate("I am Ada", { memory: ada });
    await agent.generate("Who am I?", { memory: { thread: "other", resource: "ada" } });
    expect(prompt(model, 1)).toEqual(["system: Be kind.", "user: Who am I?"]);
    const theft = agent.generate("Who am I?", { memory: { thread: "t", resource: "eve" } });
    await expect(theft).rejects.toMatchObject({ code: "not-found" });
    expect(model.calls).toHaveLength(2);
  });

  it("recalls another thread of the same person by meaning", async () => {
    const options: MemoryConfig = { semanticRecall: { topK: 1, messageRange: { before: 0, after: 1 } } };
    const { agent, model } = agentWith(options, ["A fine name", "Loom!", "No idea"]);
    await agent.generate("my cat is called Loom", { memory: ada });
    await agent.settled();
    await agent.generate("how is my cat called?", { memory: { thread: "later", resource: "ada" } });
    const [, remembered] = prompt(model, 1);
    expect(remembered).toMatch(/^system: <remembered_messages>/);
    expect(remembered).toContain(">my cat is called Loom</message>");
    expect(remembered).toContain(">A fine name</message>");
    await agent.settled();
    await agent.generate("how is my cat called?", { memory: { thread: "eve", resource: "eve" } });
    expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain("Loom");
  });

  it("updates working memory by a tool call and shows it in the next prompt", async () => {
    const workingMemory = { enabled: true, schema: z.object({ name: z.string(), cat: z.string() }) };
    const note = (input: object) => ({
      toolCalls: [{ toolName: "updateWorkingMemory", input: { memory: input } }],
    });
    const script = [note({ name: "Ada" }), "Hello", note({ cat: "Loom" }), "Nice", "You are Ada"];
    const { agent, memory, model } = agentWith({ workingMemory }, script);
    await agent.generate("I am Ada", { memory: ada });
    await agent.generate("My cat is Loom", { memory: { thread: "second", resource: "ada" } });
    await agent.generate("Who am I?", { memory: { thread: "third", resource: "ada" } });
    expect(prompt(model, 4)[1]).toContain('<working_memory>\n{"name":"Ada","cat":"Loom"}\n</working_memory>');
    expect(await memory.getWorkingMemory({ threadId: "third" })).toBe('{"name":"Ada","cat":"Loom"}');
  });

  it("names the thread beside the answer, once", async () => {
    const titles = scriptedModel(["Baking rye bread"]);
    const { agent, memory } = agentWith({ threads: { generateTitle: { model: titles } } }, ["Slowly", "Yes"]);
    await agent.generate("How do I bake rye bread?", { memory: ada });
    await agent.settled();
    await agent.generate("Really?", { memory: ada });
    await agent.settled();
    expect((await memory.getThreadById({ threadId: "t" }))?.title).toBe("Baking rye bread");
    expect(titles.calls).toHaveLength(1);
  });

  it("changes nothing when the call is read only", async () => {
    const options: MemoryConfig = {
      workingMemory: { enabled: true },
      semanticRecall: true,
      generateTitle: true,
    };
    const { agent, memory, model } = agentWith(options, ["Hi"]);
    await agent.generate("hello", { memory: { ...ada, readOnly: true } });
    await agent.settled();
    expect(model.calls[0]?.tools ?? []).toEqual([]);
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
  });

  it("shows the last messages of five thousand, and only those", async () => {
    const { agent, memory, model } = agentWith({ lastMessages: 4 }, ["ok", "ok"]);
    const owner = { threadId: "t", resourceId: "ada" };
    await memory.createThread(owner);
    const lines = Array.from({ length: 5_000 }, (_, at) => `m${at}`);
    await memory.saveMessages({ messages: conversation(owner, ...lines) });
    await agent.generate("now", { memory: ada });
    expect(prompt(model, 0).slice(1)).toEqual([
      "user: m4996",
      "assistant: m4997",
      "user: m4998",
      "assistant: m4999",
      "user: now",
    ]);
    await agent.generate("and now", { memory: { ...ada, options: { lastMessages: false } } });
    expect(prompt(model, 1)).toEqual(["system: Be kind.", "user: and now"]);
    expect(texts((await memory.recall({ ...owner, perPage: 2 })).messages)).toEqual(["and now", "ok"]);
  });
});
