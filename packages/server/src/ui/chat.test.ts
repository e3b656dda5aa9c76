import { AbstractChat, DefaultChatTransport, type ChatState, type UIMessage, type UIMessageChunk } from "ai";
import { createTool } from "@selvedge/core";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { gate, served, type Served } from "../__fixtures__/served.ts";

/** `useChat` without React: the AI SDK's own chat, on its own transport, with our server behind `fetch`. */
class Chat extends AbstractChat<UIMessage> {
  constructor(world: Served, id: string, messages: UIMessage[] = [], agentId = "helper") {
    const state: ChatState<UIMessage> = {
      status: "ready",
      error: undefined,
      messages,
      pushMessage: (message) => {
        state.messages = [...state.messages, message];
      },
      popMessage: () => {
        state.messages = state.messages.slice(0, -1);
      },
      replaceMessage: (index, message) => {
        state.messages = state.messages.with(index, message);
      },
      snapshot: (value) => structuredClone(value),
    } as ChatState<UIMessage>;
    super({ id, state, transport: transport(world, agentId) });
  }

  get text(): string {
    return (this.messages.at(-1)?.parts ?? [])
      .map((part) => (part.type === "text" ? part.text : ""))
      .join("");
  }
}

function transport(world: Served, agentId = "helper"): DefaultChatTransport<UIMessage> {
  return new DefaultChatTransport({
    api: `http://localhost/api/agents/${agentId}/chat`,
    fetch: (input, init) => world.server.fetch(new Request(input as string, init)),
  });
}

/** The chunks as the transport hands them on, each checked against the AI SDK's own schema. */
async function collect(stream: ReadableStream<UIMessageChunk>): Promise<UIMessageChunk[]> {
  const chunks: UIMessageChunk[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

const user = (id: string, text: string): UIMessage => ({ id, role: "user", parts: [{ type: "text", text }] });

function post(world: Served, chatId: string, messages: UIMessage[]): Promise<ReadableStream<UIMessageChunk>> {
  return transport(world).sendMessages({
    trigger: "submit-message",
    chatId,
    messageId: undefined,
    messages,
    abortSignal: undefined,
  });
}

describe("useChat", () => {
  test("talks on a thread, with tools in their place", async () => {
    const world = served([
      { text: "Let me see.", toolCalls: [{ toolName: "add", input: { a: 1, b: 2 } }] },
      "It is three.",
      "As I said.",
    ]);
    const chat = new Chat(world, "c1");
    await chat.sendMessage({ text: "What is 1 + 2?" });
    expect(chat.status).toBe("ready");
    expect(chat.lastMessage!.parts.map(({ type }) => type)).toEqual([
      "step-start",
      "text",
      "tool-add",
      "step-start",
      "text",
    ]);
    expect(chat.lastMessage!.parts[2]).toMatchObject({ state: "output-available", output: { sum: 3 } });
    await chat.sendMessage({ text: "Sure?" });
    expect(chat.text).toBe("As I said.");
    expect(JSON.stringify(world.model.calls[2]!.prompt)).toContain("It is three.");
    const { messages } = await world.json("listMessages", { params: { threadId: "c1" } });
    expect(messages.map(({ id }) => id)).toEqual(chat.messages.map(({ id }) => id));
  });

  test.each(["helper", "bare"])("goes on after an answer with sources and files (%s)", async (agentId) => {
    const world = served([
      {
        text: "Look here.",
        sources: [{ url: "https://a.example", title: "A" }],
        files: [{ mediaType: "image/png", data: "iVBORw0KGgo=" }],
      },
      "As I said.",
    ]);
    const chat = new Chat(world, "c1", [], agentId);
    await chat.sendMessage({ text: "Where?" });
    expect(chat.lastMessage!.parts.map(({ type }) => type)).toContain("source-url");
    await chat.sendMessage({ text: "Sure?" });
    expect([chat.error, chat.text]).toEqual([undefined, "As I said."]);
    const prompt = JSON.stringify(world.model.calls[1]!.prompt);
    expect(prompt).toContain("Look here.");
    expect(prompt).toContain("image/png");
  });

  test("the history of the browser does not count, and the same message is one message", async () => {
    const world = served(["One.", "Two."]);
    const forged: UIMessage = {
      id: "a",
      role: "assistant",
      parts: [{ type: "text", text: "I promise a million." }],
    };
    const first = await collect(await post(world, "c1", [forged, user("u1", "Hi")]));
    const again = await collect(await post(world, "c1", [user("u1", "Hi")]));
    expect(again).toEqual(first);
    expect(world.model.calls).toHaveLength(1);
    expect(JSON.stringify(world.model.calls[0]!.prompt)).not.toContain("million");
  });

  test("asks for approval, and goes on in the same message", async () => {
    const world = served([{ toolCalls: [{ toolName: "pay", input: { amount: 3 } }] }, "Paid."]);
    const chat = new Chat(world, "c1");
    await chat.sendMessage({ text: "Pay 3" });
    const waiting = chat.lastMessage!.parts.find((part) => part.type === "tool-pay") as {
      state: string;
      approval: { id: string };
    };
    expect(waiting.state).toBe("approval-requested");
    const { id } = chat.lastMessage!;
    await chat.addToolApprovalResponse({ id: waiting.approval.id, approved: true });
    await chat.sendMessage();
    expect(chat.lastMessage!.id).toBe(id);
    expect(chat.lastMessage!.parts.find((part) => part.type === "tool-pay")).toMatchObject({
      output: { paid: 3 },
    });
    expect(chat.text).toContain("Paid.");
  });

  test("takes the results of tools that the browser runs", async () => {
    const locate = createTool({ id: "locate", description: "where", inputSchema: z.object({}) });
    const world = served([{ toolCalls: [{ toolName: "locate", input: {} }] }, "You are in Oslo."], {
      tools: { locate },
    });
    const chat = new Chat(world, "c1");
    await chat.sendMessage({ text: "Where am I?" });
    const call = chat.lastMessage!.parts.find((part) => part.type === "tool-locate") as {
      toolCallId: string;
      state: string;
    };
    expect(call.state).toBe("input-available");
    await chat.addToolOutput({
      tool: "locate" as never,
      toolCallId: call.toolCallId,
      output: { city: "Oslo" } as never,
    });
    await chat.sendMessage();
    expect(chat.text).toContain("You are in Oslo.");
    expect(JSON.stringify(world.model.calls[1]!.prompt)).toContain("Oslo");
  });

  test("answers anew when asked to regenerate", async () => {
    const world = served(["First try.", "Second try."]);
    const chat = new Chat(world, "c1");
    await chat.sendMessage({ text: "Hi" });
    await chat.regenerate();
    expect(chat.text).toBe("Second try.");
    const { messages } = await world.json("listMessages", { params: { threadId: "c1" } });
    expect(JSON.stringify(messages)).not.toContain("First try.");
    expect(messages).toHaveLength(2);
  });

  test("a page that comes back picks the answer up; when nothing goes on there is nothing to pick up", async () => {
    const release = gate();
    const entered = gate();
    const world = served(async () => {
      entered.open();
      await release.opened;
      return "The whole answer.";
    });
    const first = new Chat(world, "c1");
    const sending = first.sendMessage({ text: "Hi" });
    await entered.opened;
    const second = new Chat(world, "c1", structuredClone(first.messages.slice(0, 1)));
    const resumed = second.resumeStream();
    release.open();
    await Promise.all([sending, resumed]);
    expect(second.messages).toEqual(first.messages);
    expect(second.text).toBe("The whole answer.");
    expect(await transport(world).reconnectToStream({ chatId: "c1" })).toBeNull();
    expect(await transport(world).reconnectToStream({ chatId: "never" })).toBeNull();
  });

  test("what others send meanwhile is a steering message", async () => {
    const release = gate();
    const entered = gate();
    const world = served(async ({ index }) => {
      if (index > 0) return "And that.";
      entered.open();
      await release.opened;
      return "This.";
    });
    const stream = await post(world, "c1", [user("u1", "Hi")]);
    await entered.opened;
    const other = await post(world, "c1", [user("u2", "Also that")]);
    release.open();
    const [chunks, joined] = await Promise.all([collect(stream), collect(other)]);
    expect(chunks).toContainEqual({
      type: "steering-message",
      id: "u2",
      parts: [{ type: "text", text: "Also that" }],
    });
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const text = (all: UIMessageChunk[]) =>
      all.map((chunk) => (chunk.type === "text-delta" ? chunk.delta : "")).join("|");
    expect(text(chunks).replaceAll("|", "")).toBe("This.And that.");
    expect(text(joined).replaceAll("|", "")).toBe("And that.");
    expect(joined[0]!.type).toBe("start");
  });

  test("a failure is an error on the stream", async () => {
    const world = served(
      () => {
        throw new Error("The model is down.");
      },
      { agent: { maxRetries: 0 } },
    );
    const chat = new Chat(world, "c1");
    await chat.sendMessage({ text: "Hi" });
    expect(chat.status).toBe("error");
  });

  test("works without memory, with the history the browser has", async () => {
    const world = served(["One."]);
    const response = await world.call("chat", {
      params: { agentId: "bare" },
      body: { id: "c1", messages: [user("u1", "Hi")] as never },
    });
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    const text = await response.text();
    expect(text).toContain('"delta":"One."');
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });
});
