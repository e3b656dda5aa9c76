import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import type { Script, ScriptedReply } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import type { AgentConfig } from "../agent/agent-config.ts";
import { silentLogger } from "../logger.ts";
import { listRuns } from "../thread/inspect/thread-overview.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { MESSAGES, MESSAGE_STEPS } from "../storage/tables.ts";
import { EVENTS, RUNS } from "../storage/thread-tables.ts";
import type { CommitResult, Write } from "../storage/storage.ts";
import { toModelMessages } from "../message/to-model-messages.ts";
import { createTool } from "../tool/tool.ts";

/** Counts what is written, and fails when told to. */
class CountingStorage extends InMemoryStorage {
  commits: (readonly Write[])[] = [];
  failAt = Number.POSITIVE_INFINITY;

  /** The commits that stored a step, whole or before its tools ran. */
  get steps(): (readonly Write[])[] {
    return this.commits.filter((writes) =>
      writes.some(
        (write) =>
          write.table === MESSAGE_STEPS ||
          (write.op === "insert" && write.table === MESSAGES && write.row["role"] === "assistant") ||
          (write.op === "update" && write.table === RUNS && write.set?.["open_step"]),
      ),
    );
  }

  override commit(writes: readonly Write[]): Promise<CommitResult> {
    if (this.commits.length >= this.failAt) return Promise.reject(new Error("disk full"));
    this.commits.push(writes);
    return super.commit(writes);
  }
}

const thread = { memory: { thread: "t", resource: "r" } };
const again: ScriptedReply = { toolCalls: [{ toolName: "t", input: {} }] };
const t = createTool({ id: "t", description: "", execute: async () => "ok" });

function recorded(script: Script, config: Partial<AgentConfig> = {}) {
  const storage = new CountingStorage();
  const { agent, model } = agentWith(script, { memory: bareMemory(storage), tools: { t }, ...config });
  const messages = async (threadId = "t"): Promise<StoredMessage[]> =>
    (await storage.getStore("memory"))!.recentMessages({ threadId, limit: 1000 });
  return { agent, model, storage, messages };
}

const texts = (message: StoredMessage | undefined) =>
  message?.content.parts.flatMap((part) => (part.type === "text" ? part.text : []));

function expectWellFormed(messages: StoredMessage[]) {
  const parts = messages
    .flatMap(toModelMessages)
    .flatMap((message): any[] => (typeof message.content === "string" ? [] : message.content));
  const calls = parts.filter((part) => part.type === "tool-call").map((part) => part.toolCallId);
  expect(parts.filter((part) => part.type === "tool-result").map((part) => part.toolCallId)).toEqual(calls);
}

describe("what a provider says about its own work", () => {
  it("is stored with files and with the results of its tools, and told to it in the next step", async () => {
    const meta = (n: number) => ({ p: { n } });
    const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
    const reply = [
      { type: "stream-start", warnings: [] },
      {
        type: "file",
        mediaType: "image/png",
        data: { type: "data", data: "AAAA" },
        providerMetadata: meta(1),
      },
      { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "BBBB" } },
      { type: "tool-call", toolCallId: "s", toolName: "search", input: "{}", providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "search", result: "hit", providerMetadata: meta(2) },
      { type: "tool-call", toolCallId: "c", toolName: "t", input: "{}" },
      { type: "finish", finishReason: { unified: "tool-calls", raw: "x" }, usage },
    ];
    const { agent, model, messages } = recorded([{ parts: reply as never }, "done"]);
    const { steps } = await agent.generate("go", thread);
    expect((await messages()).at(-1)!.content.parts.slice(1, 4)).toMatchObject([
      { type: "file", data: "AAAA", providerMetadata: meta(1) },
      { type: "file", data: "BBBB", reasoning: true },
      { toolInvocation: { state: "result", result: "hit", resultProviderMetadata: meta(2) } },
    ]);
    expect(steps[0]!.files).toMatchObject([
      { base64: "AAAA", providerMetadata: meta(1) },
      { reasoning: true },
    ]);
    expect(steps[0]!.toolResults[0]).toMatchObject({ toolCallId: "s", providerMetadata: meta(2) });
    const said = model.calls[1]!.prompt.find((message) => message.role === "assistant")!.content;
    expect(said).toMatchObject([
      { type: "file", providerOptions: meta(1) },
      { type: "reasoning-file" },
      { type: "tool-call" },
      { type: "tool-result", providerOptions: meta(2) },
      { type: "tool-call" },
    ]);
  });
});

describe("a chunk of an app's own", () => {
  it("says that it is not stored where no step is under way that it could be stored with", async () => {
    const late = {
      id: "late",
      processOutputResult: ({ writer }: any) => writer.custom({ type: "data-late", data: 1 }),
    };
    const { agent, messages } = recorded(["hi"], { outputProcessors: [late as never] });
    const chunks = await chunksOf(await agent.stream("go", thread));
    expect(chunks.find(({ type }) => type === "data-late")).toMatchObject({ transient: true });
    expect((await messages()).at(-1)!.content.parts.map(({ type }) => type)).toEqual(["step-start", "text"]);
  });
});

describe("a run with memory", () => {
  it("stores the user's message before the model is called", async () => {
    let stored: StoredMessage[] = [];
    const { agent, messages } = recorded(async () => ((stored = await messages()), "ok"));
    await agent.generate("hello", {
      memory: { thread: { id: "t", title: "Talk", metadata: { a: 1 } }, resource: "r" },
    });
    expect(stored.map(texts)).toEqual([["hello"]]);
    expect((await messages()).map((message) => [message.role, message.threadId, message.resourceId])).toEqual(
      [
        ["user", "t", "r"],
        ["assistant", "t", "r"],
      ],
    );
  });

  it("stores each step once before its tools run and once when they are done", async () => {
    const { agent, storage, messages } = recorded([again, again, "done"]);
    const result = await agent.generate("go", thread);
    expect(storage.steps).toHaveLength(5);
    const [, answer] = await messages();
    expect(answer!.id).toBe(result.response.dbMessages[0]!.id);
    expect(answer!.content.parts).toEqual(result.response.dbMessages[0]!.content.parts);
    expect(answer!.content.metadata).toBeUndefined();
  });

  it("writes down every call before it runs, also of tools that may run again", async () => {
    const pure = createTool({ id: "t", description: "", idempotent: true, execute: async () => "ok" });
    const { agent, storage } = recorded([again, again, "done"], { tools: { t: pure } });
    await agent.generate("go", thread);
    expect(storage.steps).toHaveLength(5);
  });

  it("writes no more for a late step than for an early one", async () => {
    const { agent, storage } = recorded(() => again);
    await agent.generate("go", { ...thread, maxSteps: 50 });
    const size = (writes: readonly Write[]) =>
      JSON.stringify(writes.filter((write) => write.table !== EVENTS)).length;
    const [, , open, whole, ...rest] = storage.steps;
    expect(rest).toHaveLength(96);
    for (const [index, late] of rest.entries()) {
      const early = index % 2 === 0 ? open! : whole!;
      expect(late).toHaveLength(early.length);
      expect(size(late)).toBeLessThanOrEqual(size(early) * 1.3);
    }
  });

  it("takes the older spelling of the thread", async () => {
    const { agent, messages } = recorded(["ok"]);
    await agent.generate("hi", { threadId: "t", resourceId: "r" });
    expect(await messages()).toHaveLength(2);
  });

  it("never stores context", async () => {
    const { agent, messages } = recorded(["ok"]);
    await agent.generate("hi", { ...thread, context: ["secret"] });
    expect(JSON.stringify(await messages())).not.toContain("secret");
  });

  it("keeps a partial answer on abort, marked", async () => {
    const controller = new AbortController();
    const { agent, messages } = recorded([{ text: ["Hel", "lo"], hang: { after: 3 } }]);
    const output = await agent.stream("hi", { ...thread, abortSignal: controller.signal });
    for await (const chunk of output.fullStream) if (chunk.type === "text-delta") controller.abort();
    const [, answer] = await messages();
    expect([texts(answer), answer!.content.metadata]).toEqual([["Hel"], { incomplete: true }]);
  });

  it("keeps a partial answer on failure, marked, with every call answered", async () => {
    const parts: any[] = [
      { type: "text-start", id: "1" },
      { type: "text-delta", id: "1", delta: "Let me look." },
      { type: "text-end", id: "1" },
      { type: "tool-call", toolCallId: "c1", toolName: "t", input: "{}" },
    ];
    const { agent, messages } = recorded([{ parts, errorAfter: 4, error: new Error("cut") }]);
    await expect(agent.generate("hi", thread)).rejects.toThrow();
    const [, answer] = await messages();
    expect(answer!.content.metadata).toEqual({ incomplete: true });
    expect(answer!.content.parts.at(-1)).toMatchObject({
      toolInvocation: { state: "output-error", isError: true },
    });
    expectWellFormed(await messages());
  });

  it("shows a partial answer in the output too, with processors that look at steps", async () => {
    const { agent, messages } = recorded([again, { text: ["a", "b"], cutAfter: 3 }], {
      outputProcessors: [{ id: "looks", processOutputStep: () => {} }],
    });
    const output = await agent.stream("go", thread);
    await output.consumeStream();
    const [, stored] = await messages();
    expect(output.messageList.get.response.db()[0]!.content.parts).toEqual(stored!.content.parts);
    expect(texts(stored)).toEqual(["a"]);
  });

  it("stores an aborted call as aborted, whatever the tool does later", async () => {
    const controller = new AbortController();
    const slow = createTool({
      id: "t",
      description: "",
      execute: () => new Promise((resolve) => setTimeout(() => resolve("late"), 40)),
    });
    const { agent, messages } = recorded([again], { tools: { t: slow } });
    const output = await agent.stream("go", { ...thread, abortSignal: controller.signal });
    for await (const chunk of output.fullStream)
      if (chunk.type === "tool-call") setTimeout(() => controller.abort(), 5);
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(JSON.stringify(await messages())).not.toContain("late");
    expectWellFormed(await messages());
  });

  it("counts the tokens of a step that was aborted once", async () => {
    const controller = new AbortController();
    const execute = (): Promise<never> => {
      controller.abort();
      return new Promise(() => {});
    };
    const stuck = createTool({ id: "t", description: "", execute });
    const { agent, storage } = recorded([again], { tools: { t: stuck } });
    const output = await agent.stream("go", { ...thread, abortSignal: controller.signal });
    await output.consumeStream();
    const { totalTokens } = await output.totalUsage;
    expect(totalTokens).toBeGreaterThan(0);
    const [run] = await storage.select({ table: RUNS, where: { id: output.runId } });
    expect(run).toMatchObject({ usage: { totalTokens } });
  });

  it("marks the message when a later step fails", async () => {
    const { agent, messages } = recorded([again, { text: ["a", "b"], cutAfter: 3 }]);
    await expect(agent.generate("go", thread)).rejects.toMatchObject({ code: "model-incomplete" });
    const all = await messages();
    expect(all).toHaveLength(2);
    expect(all[1]!.content.metadata).toEqual({ incomplete: true });
    expectWellFormed(all);
  });

  it.each([0, 1, 2, 3, 4, 5, 6])(
    "fails with storage-failed when the store fails from commit %i on, and goes on from there when it is back",
    async (failAt) => {
      const { agent, storage, messages } = recorded([again, "done", "done", "done"], {
        logger: silentLogger,
      });
      storage.failAt = failAt;
      const failed = await agent.generate("go", thread).then(
        () => undefined,
        (error: unknown) => error,
      );
      storage.failAt = Number.POSITIVE_INFINITY;
      expectWellFormed(await messages());
      if (failed)
        expect(failed).toMatchObject({
          code: "storage-failed",
          message: expect.stringContaining("disk full"),
        });
      const next = await agent.generate("next", thread);
      expect(next.text).toBe("done");
      expectWellFormed(await messages());
      expect((await messages()).filter((message) => message.role === "user").length).toBeGreaterThanOrEqual(
        1,
      );
    },
  );

  it("answers not-found for another resource's thread, writing or reading only", async () => {
    const { agent, model } = recorded(["ok", "ok"]);
    await agent.generate("mine", thread);
    await expect(
      agent.generate("theirs", { memory: { thread: "t", resource: "other" } }),
    ).rejects.toMatchObject({ code: "not-found" });
    await expect(
      agent.generate("theirs", { memory: { thread: "t", resource: "other", readOnly: true } }),
    ).rejects.toMatchObject({ code: "not-found" });
    expect(model.calls).toHaveLength(1);
  });

  it("writes nothing when it is read-only", async () => {
    const { agent, storage } = recorded(["ok"]);
    expect(
      (await agent.generate("hi", { memory: { thread: "t", resource: "r", readOnly: true } })).text,
    ).toBe("ok");
    expect(storage.commits).toHaveLength(0);
  });

  it("refuses a message id that is in use on another thread", async () => {
    const { agent, messages } = recorded(["ok", "ok"]);
    await agent.generate({ id: "m1", role: "user", content: "hi" }, thread);
    await expect(
      agent.generate({ id: "m1", role: "user", content: "hi" }, { memory: { thread: "t2", resource: "r" } }),
    ).rejects.toMatchObject({ code: "invalid-message" });
    expect(await messages("t2")).toEqual([]);
  });

  it("stores a message that is sent again once", async () => {
    const { agent, messages } = recorded(["one", "two"]);
    await agent.generate({ id: "m1", role: "user", content: "hi" }, thread);
    await agent.generate(
      [
        { id: "m1", role: "user", content: "hi" },
        { id: "m2", role: "user", content: "more" },
      ],
      thread,
    );
    expect(
      (await messages()).filter((message) => message.role === "user").map((message) => message.id),
    ).toEqual(["m1", "m2"]);
  });

  it("announces a waiting call after it is stored", async () => {
    const { agent, messages } = recorded([again]);
    const output = await agent.stream("go", { ...thread, requireToolApproval: true });
    for await (const chunk of output.fullStream) {
      if (chunk.type !== "tool-call-approval") continue;
      const stored = (await messages()).at(-1)!;
      expect(stored.content.metadata).toMatchObject({
        pendingToolApprovals: { "call-1-1": { toolName: "t", runId: output.runId, requiresApproval: true } },
      });
      expect(
        (stored.content.parts.at(-1) as Extract<MessagePart, { type: "tool-invocation" }>).toolInvocation
          .state,
      ).toBe("approval-requested");
    }
    expect(await output.finishReason).toBe("suspended");
  });

  it("puts a processor's version in the place of what was stored", async () => {
    const { agent, messages } = recorded(["secret"], {
      outputProcessors: [
        {
          id: "censor",
          processOutputResult: ({ messages: all }) =>
            all.map((message) =>
              message.role === "assistant"
                ? {
                    ...message,
                    content: { ...message.content, parts: [{ type: "text" as const, text: "***" }] },
                  }
                : message,
            ),
        },
      ],
    });
    await agent.generate("hi", thread);
    expect((await messages()).map(texts)).toEqual([["hi"], ["***"]]);
  });

  it("stores nothing that a processor stopped at the door", async () => {
    const { agent, messages, model, storage } = recorded(["ok"], {
      inputProcessors: [{ id: "guard", processInput: ({ abort }) => abort("no") }],
    });
    expect((await agent.generate("bad", thread)).tripwire).toMatchObject({
      reason: "no",
      processorId: "guard",
    });
    expect([await messages(), model.calls.length]).toEqual([[], 0]);
    // Who looks at the runs is told why.
    expect((await listRuns(storage, { threadId: "t" })).runs).toMatchObject([
      { state: "failed", error: { code: "tripwire", message: "no" } },
    ]);
  });

  it("finds its storage in the host when the memory is made per call", async () => {
    const { Mastra } = await import("../mastra/mastra.ts");
    const storage = new InMemoryStorage();
    let own: InMemoryStorage | undefined;
    const memory = {
      ...bareMemory(),
      get storage() {
        return own;
      },
      useStorage: (given: never) => void (own = given),
    };
    const { agent } = agentWith(["ok"], { memory: () => memory as never });
    new Mastra({ agents: { agent }, storage, logger: false });
    await agent.generate("hi", thread);
    expect(own).toBe(storage);
    expect((await chunksOf(await agentWith(["ok"]).agent.stream("x"))).length).toBeGreaterThan(0);
  });
});
