import type { ModelMessage } from "../message/model-message.ts";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Processor } from "../processor/processor.ts";

const clientTools = { where: { description: "Where?", parameters: { type: "object", properties: {} } } };
const thread = { memory: { thread: "t", resource: "r" } };
const answer = {
  role: "tool",
  content: [
    {
      type: "tool-result",
      toolCallId: "call-1-1",
      toolName: "where",
      output: { type: "text", value: "Oslo" },
    },
  ],
};
const script = [{ toolCalls: [{ toolName: "where", input: { exact: true } }] }, "Sunny in Oslo.", "Again."];

/** Loads the newest messages, as memory does. */
const history = (storage: InMemoryStorage): Processor => ({
  id: "history",
  processInput: async ({ messageList }) => {
    const domain = await storage.getStore("memory");
    messageList.prepend(await domain!.recentMessages({ threadId: "t", limit: 10 }));
  },
});

function pairs(prompt: ModelMessage[]) {
  const parts = prompt.flatMap((message): any[] =>
    typeof message.content === "string" ? [] : message.content,
  );
  return {
    calls: parts.filter((part) => part.type === "tool-call"),
    results: parts.filter((part) => part.type === "tool-result"),
  };
}

function expectOnePair(prompt: ModelMessage[], input: unknown = { exact: true }) {
  const { calls, results } = pairs(prompt);
  expect(calls).toMatchObject([{ toolCallId: "call-1-1", toolName: "where", input }]);
  expect(results).toMatchObject([{ toolCallId: "call-1-1", output: { type: "text", value: "Oslo" } }]);
}

describe("client tools", () => {
  it("stop the run, even where a definition came with a function", async () => {
    const { agent, model } = agentWith(script);
    const result = await agent.generate("Weather?", {
      clientTools: { where: { ...clientTools.where, execute: () => expect.fail("not here") as never } },
    });
    expect(result.finishReason).toBe("tool-calls");
    expect(result.toolCalls).toMatchObject([{ toolName: "where", args: { exact: true } }]);
    expect([model.calls.length, result.toolResults]).toEqual([1, []]);
  });

  it("stop a run that expects an object without failing it", async () => {
    const { agent } = agentWith(script);
    const result = await agent.generate("Weather?", {
      clientTools,
      experimental_output: { type: "object", properties: {} },
    });
    expect([result.finishReason, result.object]).toEqual(["tool-calls", undefined]);
  });

  it("go on without memory when the messages come back with the result", async () => {
    const { agent, model } = agentWith(script);
    await agent.generate("Weather?", { clientTools });
    const asked = {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "call-1-1", toolName: "where", input: { exact: true } }],
    };
    const result = await agent.generate(["Weather?", asked, answer], { clientTools });
    expect(result.text).toBe("Sunny in Oslo.");
    expectOnePair(model.calls[1]!.prompt);
  });

  it("go on without memory when only the result comes back", async () => {
    const { agent, model } = agentWith(["ok"]);
    await agent.generate([answer]);
    expectOnePair(model.calls[0]!.prompt, {});
  });

  const asked = {
    role: "assistant",
    content: [{ type: "tool-call", toolCallId: "call-1-1", toolName: "where", input: { exact: true } }],
  };
  for (const [loads, withHistory] of [
    ["with history", true],
    ["without history", false],
  ] as const) {
    it.each([
      ["the result alone", [answer]],
      ["the call and the result", [asked, answer]],
      ["the result and a new question", [answer, "And tomorrow?"]],
    ])(`go on with memory ${loads} when %s comes back`, async (_, input) => {
      const storage = new InMemoryStorage();
      const { agent, model } = agentWith(script, {
        memory: bareMemory(storage, withHistory ? { inputProcessors: [history(storage)] } : {}),
      });
      await agent.generate("Weather?", { clientTools, ...thread });
      await agent.generate(input as never, { clientTools, ...thread });
      expectOnePair(model.calls[1]!.prompt);
      const domain = await storage.getStore("memory");
      const stored = await domain!.recentMessages({ threadId: "t", limit: 20 });
      const invocations = stored.flatMap((message) =>
        message.content.parts.flatMap((part) => (part.type === "tool-invocation" ? part.toolInvocation : [])),
      );
      expect(invocations).toMatchObject([
        { toolCallId: "call-1-1", state: "result", result: "Oslo", args: { exact: true } },
      ]);
      await agent.generate("Thanks", thread);
      if (withHistory) expectOnePair(model.calls[2]!.prompt);
    });
  }

  it("get their result stored when the page sends the whole message again under its id", async () => {
    const storage = new InMemoryStorage();
    const { agent, model } = agentWith(script, {
      memory: bareMemory(storage, { inputProcessors: [history(storage)] }),
    });
    const first = await agent.generate("Weather?", { clientTools, ...thread });
    const id = first.response.dbMessages[0]!.id;
    const part = {
      type: "tool-where",
      toolCallId: "call-1-1",
      state: "output-available",
      input: { exact: true },
      output: "Oslo",
    };
    await agent.generate([{ id, role: "assistant", parts: [part] }], thread);
    expectOnePair(model.calls[1]!.prompt);
    await agent.generate("Thanks", thread);
    expectOnePair(model.calls[2]!.prompt);
  });

  it("cannot answer a call that waits for a person", async () => {
    const storage = new InMemoryStorage();
    const { agent } = agentWith(script, {
      memory: bareMemory(storage),
      tools: { where: { id: "where", description: "", execute: () => 1, requireApproval: true } },
    });
    await agent.generate("Weather?", thread);
    await expect(agent.generate([answer], thread)).rejects.toMatchObject({ code: "thread-suspended" });
    const domain = await storage.getStore("memory");
    const [, first] = await domain!.recentMessages({ threadId: "t", limit: 20 });
    expect(first!.content.parts.at(-1)).toMatchObject({ toolInvocation: { state: "approval-requested" } });
  });
});
