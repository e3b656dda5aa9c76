import { Agent } from "@mastra/core/agent";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";
import { scripted, type Reply } from "../model.ts";
import { onPurpose, outcome, type Probes } from "../probe.ts";

let stores = 0;

function setUp(replies: readonly Reply[], options: any = { lastMessages: 10 }) {
  const storage = new LibSQLStore({ id: `store-${(stores += 1)}`, url: ":memory:" });
  const memory = new Memory({ storage, options });
  const model = scripted(replies);
  return {
    memory,
    model,
    agent: new Agent({ id: "a", name: "a", instructions: "x", model: model as any, memory: memory as any }),
  };
}

const place = { memory: { thread: "t1", resource: "ann" } };

function textsOf(messages: any[]): string[] {
  return messages.map((m) => `${m.role}: ${m.content.parts.map((p: any) => p.text ?? "").join("")}`);
}

export const probes: Probes = {
  "the second turn sees the first": async () => {
    const { agent, model } = setUp(["Hello Ann", "You are Ann"]);
    await agent.generate("I am Ann", place);
    await agent.generate("Who am I?", place);
    return model.prompts[1].prompt.filter((m: any) => m.role !== "system").map((m: any) => m.content[0].text);
  },
  "recall returns stored messages in order": async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    const { messages } = await memory.recall({ threadId: "t1", resourceId: "ann" });
    return textsOf(messages);
  },
  "the parts of a stored answer": onPurpose(
    "Each step of an answer begins with a step-start part, also the first, as in the AI SDK.",
    async () => {
      const { agent, memory } = setUp(["Hello"]);
      await agent.generate("Hi", place);
      const { messages } = await memory.recall({ threadId: "t1", resourceId: "ann" });
      return messages[1]!.content.parts.map((part) => part.type);
    },
  ),
  "the shape of a stored message": async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    const [message] = (await memory.recall({ threadId: "t1", resourceId: "ann" })).messages as any[];
    return {
      id: typeof message.id,
      date: message.createdAt instanceof Date,
      format: message.content.format,
      thread: message.threadId,
      resource: message.resourceId,
    };
  },
  "createThread and getThreadById": async () => {
    const { memory } = setUp(["x"]);
    await memory.createThread({
      threadId: "t9",
      resourceId: "ann",
      title: "Trip",
      metadata: { color: "red" },
    });
    const thread: any = await memory.getThreadById({ threadId: "t9" });
    return { id: thread.id, resource: thread.resourceId, title: thread.title, metadata: thread.metadata };
  },
  "getThreadById of nothing": async () =>
    (await setUp(["x"]).memory.getThreadById({ threadId: "none" })) ?? "null",
  "listThreads by resource": async () => {
    const { memory } = setUp(["x"]);
    await memory.createThread({ threadId: "t1", resourceId: "ann" });
    await memory.createThread({ threadId: "t2", resourceId: "ben" });
    const { threads, total, hasMore } = await memory.listThreads({ filter: { resourceId: "ann" } });
    return { ids: threads.map((t: any) => t.id), total, hasMore };
  },
  "updateThread changes title and metadata": async () => {
    const { memory } = setUp(["x"]);
    await memory.createThread({ threadId: "t1", resourceId: "ann", title: "Old" });
    await memory.updateThread({ id: "t1", title: "New", metadata: { a: 1 } });
    const thread: any = await memory.getThreadById({ threadId: "t1" });
    return { title: thread.title, metadata: thread.metadata };
  },
  deleteThread: async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    await memory.deleteThread("t1");
    return { thread: (await memory.getThreadById({ threadId: "t1" })) ?? "null" };
  },
  deleteMessages: async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    const { messages } = await memory.recall({ threadId: "t1", resourceId: "ann" });
    await memory.deleteMessages([messages[0]!.id]);
    return textsOf((await memory.recall({ threadId: "t1", resourceId: "ann" })).messages);
  },
  "saveMessages and pages": async () => {
    const { memory } = setUp(["x"]);
    await memory.createThread({ threadId: "t1", resourceId: "ann" });
    await memory.saveMessages({
      messages: [1, 2, 3].map((n) => ({
        id: `m${n}`,
        role: "user" as const,
        threadId: "t1",
        resourceId: "ann",
        createdAt: new Date(1_700_000_000_000 + n * 1000),
        content: { format: 2 as const, parts: [{ type: "text" as const, text: `number ${n}` }] },
      })),
    });
    const page = await memory.recall({ threadId: "t1", resourceId: "ann", perPage: 2, page: 0 });
    return textsOf(page.messages);
  },
  "lastMessages limits the prompt": async () => {
    const { agent, model } = setUp(["1", "2", "3"], { lastMessages: 2 });
    for (const text of ["a", "b", "c"]) await agent.generate(text, place);
    return model.prompts[2].prompt.filter((m: any) => m.role !== "system").map((m: any) => m.content[0].text);
  },
  "another resource's thread is refused": async () => {
    const { agent } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    return outcome(
      async () => (await agent.generate("Hi", { memory: { thread: "t1", resource: "ben" } })).text,
    );
  },
  "readOnly stores nothing": async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", { memory: { thread: "t1", resource: "ann", options: { readOnly: true } } });
    const thread = await memory.getThreadById({ threadId: "t1" });
    return thread ? textsOf((await memory.recall({ threadId: "t1", resourceId: "ann" })).messages) : [];
  },
  "working memory is offered as a tool": async () => {
    const { agent, model } = setUp(["ok"], { workingMemory: { enabled: true, template: "# User\n- Name:" } });
    await agent.generate("Hi", place);
    return model.prompts[0].tools?.map((t: any) => t.name);
  },
  "working memory is written and read": async () => {
    const { agent, memory } = setUp(
      [{ calls: [{ tool: "updateWorkingMemory", input: { memory: "# User\n- Name: Ann" } }] }, "Noted"],
      { workingMemory: { enabled: true, template: "# User\n- Name:" } },
    );
    await agent.generate("I am Ann", place);
    return memory.getWorkingMemory({ threadId: "t1", resourceId: "ann" });
  },
  "working memory with a schema": async () => {
    const { agent, memory } = setUp(
      [{ calls: [{ tool: "updateWorkingMemory", input: { memory: { name: "Ann" } } }] }, "Noted"],
      { workingMemory: { enabled: true, schema: z.object({ name: z.string().optional() }) } },
    );
    await agent.generate("I am Ann", place);
    const value = await memory.getWorkingMemory({ threadId: "t1", resourceId: "ann" });
    return typeof value === "string" ? JSON.parse(value) : value;
  },
  cloneThread: async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    const { thread, clonedMessages } = (await memory.cloneThread({
      sourceThreadId: "t1",
      newThreadId: "t2",
    })) as any;
    return {
      id: thread.id,
      count: clonedMessages?.length,
      texts: textsOf((await memory.recall({ threadId: "t2", resourceId: "ann" })).messages),
    };
  },
  "a title is generated": async () => {
    const { agent, memory } = setUp(["Hello", "A greeting"], { generateTitle: true });
    await agent.generate("Hi", place);
    for (let n = 0; n < 50 && !(await memory.getThreadById({ threadId: "t1" }))?.title; n += 1)
      await new Promise((r) => setTimeout(r, 20));
    return typeof (await memory.getThreadById({ threadId: "t1" }))?.title;
  },
  "the older form of a call": onPurpose(
    "threadId and resourceId of a call still work, as older names.",
    async () => {
      const { agent, memory } = setUp(["Hello"]);
      await outcome(() => agent.generate("Hi", { threadId: "t1", resourceId: "ann" } as any));
      return (await memory.getThreadById({ threadId: "t1" }))?.id ?? "null";
    },
  ),
  "the lineage of clones": async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    await memory.cloneThread({ sourceThreadId: "t1", newThreadId: "t2" });
    await memory.cloneThread({ sourceThreadId: "t2", newThreadId: "t3" });
    return {
      clone: memory.isClone(await memory.getThreadById({ threadId: "t2" })),
      original: memory.isClone(await memory.getThreadById({ threadId: "t1" })),
      source: (await memory.getSourceThread("t3"))?.id,
      clones: (await memory.listClones("t1", "ann")).map((thread) => thread.id),
      history: (await memory.getCloneHistory("t3")).map((thread) => thread.id),
    };
  },
  updateMessages: async () => {
    const { agent, memory } = setUp(["Hello"]);
    await agent.generate("Hi", place);
    const [first] = (await memory.recall({ threadId: "t1", resourceId: "ann" })).messages;
    await memory.updateMessages({
      messages: [{ id: first!.id, content: { format: 2, parts: [{ type: "text", text: "Hi there" }] } }],
    } as any);
    return textsOf((await memory.recall({ threadId: "t1", resourceId: "ann" })).messages);
  },
  "memory of a call on an agent without memory": async () => {
    const agent = new Agent({ id: "a", name: "a", instructions: "x", model: scripted(["Hello"]) as any });
    return outcome(async () => (await agent.generate("Hi", place)).text);
  },
};
