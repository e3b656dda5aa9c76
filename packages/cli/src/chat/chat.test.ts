import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { InMemoryStore } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { type Script, type ScriptedReply, scriptedModel } from "@selvedge/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { Chat } from "./chat.ts";
import { openHostChat } from "./open-host-chat.ts";

const write = createTool({
  id: "write",
  description: "",
  inputSchema: { type: "object" },
  execute: async () => ({ written: true }),
});

/** A session of a real controller, and how to look at it. */
async function startChat(script: Script) {
  const storage = new InMemoryStore();
  const agent = new Agent({
    name: "a",
    instructions: "",
    model: scriptedModel(script),
    memory: new Memory({ storage }),
    tools: { write },
  });
  const desk = new AgentController({
    id: "desk",
    storage,
    agent,
    modes: [{ id: "build", description: "Does it." }, { id: "plan" }],
    toolCategoryResolver: () => "edit",
    resolveModel: () => scriptedModel(["from another model"]),
    customModelCatalogProvider: () => [
      { id: "test/one", provider: "test", modelName: "one", hasApiKey: true },
    ],
  });
  const mastra = new Mastra({ agentControllers: { desk }, storage, logger: false });
  onTestFinished(() => mastra.close());
  const openChat = async () => {
    const wanted = { controllerId: undefined, sessionId: "s", threadId: undefined, resourceId: "ada" };
    const open = await openHostChat(mastra, wanted, "here");
    const chat = new Chat(open);
    const notes: string[] = [];
    chat.onNote = (_, text) => notes.push(text);
    await chat.start();
    /** Types something, and returns what it says to that. */
    const says = async (text: string): Promise<string> => {
      const before = notes.length;
      await chat.submit(text);
      return notes.slice(before).join("\n");
    };
    const idle = () => expect.poll(() => chat.isBusy).toBe(false);
    const shown = () =>
      chat.transcript
        .blocks(chat.display)
        .map((block) => (block.kind === "tool" ? `${block.call.name}:${block.call.status}` : block.text));
    return { chat, notes, says, idle, shown };
  };
  return { ...(await openChat()), openChat };
}

const CALL = { toolCalls: [{ toolName: "write", input: { path: "a" } }] };

/** A reply of a provider that reports a price. */
function costing(cost: number): ScriptedReply {
  const inputTokens = { total: 1, noCache: 1, cacheRead: undefined, cacheWrite: undefined };
  const outputTokens = { total: 1, text: 1, reasoning: undefined };
  return {
    parts: [
      { type: "stream-start", warnings: [] },
      { type: "text-start", id: "0" },
      { type: "text-delta", id: "0", delta: "costly" },
      { type: "text-end", id: "0" },
      {
        type: "finish",
        finishReason: { unified: "stop", raw: "stop" },
        usage: { inputTokens, outputTokens, raw: { cost } },
      },
    ],
  };
}

describe("Chat", () => {
  it("sends a message, shows it at once, and shows the answer", async () => {
    const { chat, idle, shown } = await startChat(["Hello."]);
    const sent = chat.submit("hi");
    expect(chat.pending).toEqual([{ text: "hi", state: "sending" }]);
    await sent;
    await idle();
    expect(chat.pending).toEqual([]);
    expect(shown()).toEqual(["hi", "Hello."]);
  });

  it("lets the first of two answers count, and says so to the other", async () => {
    const { chat, notes, idle, shown, openChat } = await startChat([CALL, "Done."]);
    const other = await openChat();
    await chat.submit("write");
    await expect.poll(() => other.chat.questions.length).toBe(1);
    await Promise.all([chat.submit("y"), other.chat.submit("n")]);
    await idle();
    expect([...notes, ...other.notes]).toEqual(["Another client has already answered this."]);
    expect(shown().at(-1)).toBe("Done.");
    expect(other.shown().at(-1)).toBe("Done.");
  });

  it("says in plain words that an answer comes too late", async () => {
    const { chat, notes } = await startChat([CALL, "Done."]);
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
    // The screen is behind the store.
    const late = { ...chat.questions[0]!, toolCallId: "gone" };
    Object.defineProperty(chat, "questions", { get: () => [late] });
    await chat.submit("n");
    expect(notes).toEqual(["This question no longer needs an answer."]);
  });

  it("takes other words at a question as its end: a yes that follows at once does not allow the call", async () => {
    const { chat, idle, shown } = await startChat([CALL, "As you like.", "Yes what?"]);
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
    const sent = chat.submit("leave it");
    expect(chat.questions).toEqual([]);
    await Promise.all([sent, chat.submit("y")]);
    await idle();
    expect(shown()).toContain("write:failed");
    expect(shown()).not.toContain("write:done");
  });

  it("leaves at the second Ctrl-C, but not if another run has begun since and some time has passed", async () => {
    const { chat, notes, idle } = await startChat(["one", { text: ["two"], chunkDelayMs: 60_000 }, "three"]);
    let left = 0;
    chat.onLeave = () => left++;
    chat.interrupt(1000);
    expect(notes).toEqual(["Press Ctrl-C again to quit."]);
    chat.interrupt(90_000);
    expect(left).toBe(1);
    await chat.submit("go");
    await idle();
    const now = Date.now();
    chat.interrupt(now);
    void chat.session.steer({ content: "from elsewhere" });
    await expect.poll(() => chat.display.isRunning).toBe(true);
    chat.interrupt(now + 60_000);
    expect(left).toBe(1);
    await idle();
    chat.interrupt(now + 61_000);
    expect(left).toBe(2);
  });

  it("shows an error once, and takes the next message", async () => {
    const { notes, chat, idle, shown } = await startChat([{ error: new Error("out of order") }, "Fine now."]);
    await chat.submit("go");
    await idle();
    expect(notes).toEqual([expect.stringContaining("out of order")]);
    await chat.submit("again");
    await idle();
    expect(shown().at(-1)).toBe("Fine now.");
  });

  it("gives back what could not be sent", async () => {
    const { chat, notes } = await startChat([]);
    const unsent: string[] = [];
    chat.onUnsent = (text) => unsent.push(text);
    await chat.open.close();
    await chat.submit("hello?");
    expect(unsent).toEqual(["hello?"]);
    expect(notes).toHaveLength(1);
    expect(notes[0]).not.toMatch(/^[a-z-]+: /);
    expect(chat.pending).toEqual([]);
  });

  it("adds up what the provider says that it cost", async () => {
    const { chat, idle, says } = await startChat([costing(0.25), "free", costing(0.5)]);
    for (const text of ["one", "two", "three"]) {
      await chat.submit(text);
      await idle();
    }
    expect(await says("/usage")).toMatch(
      /^\d+ tokens: \d+ in, \d+ out\n\$0\.7500 since you opened this terminal$/,
    );
  });
});

describe("commands", () => {
  it("lists the modes and models, and changes them", async () => {
    const { chat, says, idle, shown } = await startChat([]);
    expect(await says("/mode")).toBe("* build  Does it.\n  plan");
    expect(await says("/mode plan")).toBe("Mode: plan");
    expect(await says("/mode nowhere")).toContain('"nowhere"');
    expect(await says("/model")).toContain("test/one");
    expect(await says("/model test/one")).toBe("Model: test/one, starting with the next run.");
    expect(await says("/model")).toContain("* test/one");
    await chat.submit("hi");
    await idle();
    expect(shown().at(-1)).toBe("from another model");
  });

  it("goes from conversation to conversation, by number, name or a part of it", async () => {
    const { chat, says, idle, shown } = await startChat(["one", "two"]);
    await says("/new About weaving");
    await chat.submit("first");
    await idle();
    await says("/new About sewing");
    expect(shown()).toEqual(["Started a new conversation."]);
    const list = await says("/threads");
    expect(list).toMatch(/\* 1 {2}About sewing {2}\d{4}-\d\d-\d\d \d\d:\d\d\n {2}2 {2}About weaving/);
    await says("/threads weav");
    expect(shown()).toEqual(["first", "one"]);
    await says("/threads About sewing");
    expect(shown()).toEqual([]);
    await says("/threads 2");
    expect(shown()).toEqual(["first", "one"]);
    expect(await says("/threads knitting")).toBe('There is no conversation "knitting". /threads lists them.');
    await says("/clone A copy");
    expect(shown()).toEqual(["first", "one", "This is a copy. /threads lists the original."]);
  });

  it("does not look busy in a new conversation because the last one waits for an answer", async () => {
    const { chat, says } = await startChat([CALL]);
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
    await says("/new");
    expect(chat.questions).toEqual([]);
    expect(chat.workingSince).toBeUndefined();
  });

  it("queues, lists, edits, removes and steers", async () => {
    const gate = Promise.withResolvers<string>();
    const replies = [gate.promise, "second", "third"];
    const { chat, says, idle, shown } = await startChat(() => replies.shift()!);
    expect(await says("/queue")).toBe("Nothing is queued.");
    await chat.submit("go");
    await expect.poll(() => chat.display.isRunning).toBe(true);
    await says("/queue one");
    await says("/queue two");
    await expect.poll(() => chat.pending.map(({ state }) => state)).toEqual(["queued", "queued"]);
    expect(await says("/queue")).toBe("1  one\n2  two");
    await says("/queue edit 2 zwei");
    await says("/queue remove 1");
    expect(chat.pending).toEqual([{ text: "zwei", state: "queued" }]);
    expect(await says("/queue steer 7")).toBe("There is no message 7 in the queue. /queue lists them.");
    expect(await says("/queue edit 1")).toBe("Add the new text: /queue edit 1 the new text");
    gate.resolve("first");
    await idle();
    expect(shown()).toEqual(expect.arrayContaining(["go", "first", "zwei", "second"]));
    expect(shown()).not.toContain("one");
  });

  it("shows and changes what tools may do", async () => {
    const { chat, says } = await startChat([]);
    expect(await says("/permissions")).toBe("Everything else asks first.");
    expect(await says("/permissions edit allow")).toBe("allow  edit\nEverything else asks first.");
    expect(await says("/permissions write(notes/*) deny")).toBe(
      "allow  edit\ndeny  write(notes/*)\nEverything else asks first.",
    );
    expect(await says("/permissions edit perhaps")).toMatch(/^Name a rule and a policy: /);
    expect(await says("/yolo")).toMatch(/^Tools now run without asking/);
    expect(chat.session.state.get()["yolo"]).toBe(true);
    expect(await says("/permissions")).toContain("yolo: tools run without asking");
    expect(await says("/yolo off")).toBe("Tools now ask first again.");
    expect(await says("/yolo maybe")).toBe("Say /yolo on or /yolo off.");
  });

  it("always allows a category, until it is revoked", async () => {
    const { chat, says, idle } = await startChat([CALL, "Done.", CALL, "Again.", CALL, "Asked."]);
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
    await chat.submit("a");
    await idle();
    expect(await says("/permissions")).toContain("granted  edit");
    await chat.submit("write");
    await idle();
    expect(await says("/permissions revoke edit")).toBe("Everything else asks first.");
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
  });

  it("shows a call in full, tasks, help, and what is not a command", async () => {
    const { chat, says, idle } = await startChat([CALL, "Done."]);
    expect(await says("/tool")).toBe("There is no such tool call.");
    await chat.submit("write");
    await expect.poll(() => chat.questions.length).toBe(1);
    await chat.submit("y");
    await idle();
    expect(await says("/tool")).toBe('write\n{\n  "path": "a"\n}\n→ {\n  "written": true\n}');
    expect(await says("/tasks")).toBe("There are no tasks.");
    expect(await says("/help")).toMatch(/\/mode \[mode\] +list the modes, or switch to another/);
    expect(await says("/nonsense")).toBe("Unknown command /nonsense. /help lists the commands.");
  });

  it("leaves at /quit and at /exit", async () => {
    const { chat } = await startChat([]);
    let left = 0;
    chat.onLeave = () => left++;
    await chat.submit("/quit");
    await chat.submit("/exit");
    expect(left).toBe(2);
  });
});
