import { MastraClient } from "@selvedge/client-js";
import { createTool } from "@selvedge/core/tools";
import { createElement, type ReactNode } from "react";
import { afterEach, describe, expect, it } from "vitest";
import { renderHook } from "./__fixtures__/render.ts";
import { gated, HERE, type Page, served } from "./__fixtures__/served-agent.ts";
import { withDocument } from "./__fixtures__/with-document.ts";
import { MastraReactProvider, useChat, type UseChatOptions, type UseChatResult } from "./index.ts";

withDocument();

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].reverse()) await close();
  open.clear();
});

async function chatWith(
  args: Parameters<typeof served>,
  options: Partial<UseChatOptions> = {},
): Promise<{ page: Page; chat: ReturnType<typeof renderHook<UseChatResult>> }> {
  const page = await served(...args);
  const wrap = (children: ReactNode) =>
    createElement(MastraReactProvider, { baseUrl: page.server.url }, children);
  const chat = renderHook(() => useChat({ agentId: "weaver", ...options }), wrap);
  open.add(() => page.close()).add(() => chat.unmount());
  await expect.poll(() => chat.all.length).toBeGreaterThan(0);
  return { page, chat };
}

const lines = ({ messages }: UseChatResult) =>
  messages.map(
    ({ role, parts, state }) =>
      `${role} ${state}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`,
  );

const danger = (ran: string[] = []) =>
  createTool({
    id: "danger",
    description: "Breaks things.",
    requireApproval: true,
    execute: async () => {
      ran.push("danger");
      return "broken";
    },
  });
const ASKS = { toolCalls: [{ toolName: "danger", toolCallId: "d1", input: {} }] };
const LIVE = { ...HERE, enableThreadSignals: true };

describe.each([
  ["without a thread", {}],
  ["with a thread", HERE],
  ["on a live thread", LIVE],
])("useChat %s", (_, options) => {
  it("shows the message, then the answer as it comes", async () => {
    const { reply, hold } = gated();
    const { chat } = await chatWith([reply], options);
    const { reached, go } = hold();
    const sent = chat.current.sendMessage("Hi");
    await expect.poll(() => lines(chat.current)[0]).toMatch(/^user (sending|waiting|done): Hi$/);
    await reached;
    await expect.poll(() => chat.current.isRunning).toBe(true);
    go();
    await sent;
    await expect.poll(() => lines(chat.current)).toEqual(["user done: Hi", "assistant done: Answer 1."]);
    expect(chat.current.isRunning).toBe(false);
  });

  it("remembers what was said", async () => {
    const prompts: string[][] = [];
    const script = ({ prompt }: { prompt: { role: string; content: unknown }[] }) => {
      prompts.push(prompt.filter(({ role }) => role !== "system").map(({ role }) => role));
      return "ok";
    };
    const { chat } = await chatWith([script as never], options);
    await chat.current.sendMessage("one");
    await expect.poll(() => lines(chat.current)).toHaveLength(2);
    await expect.poll(() => chat.current.isRunning).toBe(false);
    await chat.current.sendMessage({ message: "two" });
    await expect.poll(() => lines(chat.current)).toHaveLength(4);
    expect(prompts).toEqual([["user"], ["user", "assistant", "user"]]);
  });

  it("asks before a tool runs", async () => {
    const ran: string[] = [];
    const { chat } = await chatWith([[ASKS, "done"], { tools: { danger: danger(ran) } }], options);
    await chat.current.sendMessage("go");
    await expect.poll(() => chat.current.isAwaitingToolApproval).toBe(true);
    expect(chat.current.toolCallApprovals).toEqual({ d1: { status: "pending" } });
    expect(chat.current.isRunning).toBe(false);
    await chat.current.approveToolCall("d1");
    await expect.poll(() => lines(chat.current).at(-1)).toBe("assistant done: done");
    expect([ran, chat.current.toolCallApprovals]).toEqual([["danger"], { d1: { status: "approved" } }]);
    expect(chat.current.isAwaitingToolApproval).toBe(false);
  });

  it("does not run what is declined", async () => {
    const ran: string[] = [];
    const { chat } = await chatWith([[ASKS, "as you wish"], { tools: { danger: danger(ran) } }], options);
    await chat.current.sendMessage("go");
    await expect.poll(() => chat.current.isAwaitingToolApproval).toBe(true);
    await chat.current.declineToolCall("d1", "too risky");
    await expect.poll(() => lines(chat.current).at(-1)).toBe("assistant done: as you wish");
    expect([ran, chat.current.toolCallApprovals]).toEqual([[], { d1: { status: "declined" } }]);
  });

  it("stops when it is cancelled", async () => {
    const { chat } = await chatWith([[{ hang: true }, "next"]], options);
    const sent = chat.current.sendMessage("Hi").catch(() => {});
    await expect.poll(() => chat.current.isRunning).toBe(true);
    await expect.poll(() => lines(chat.current)[0]).toBe("user done: Hi");
    await chat.current.cancelRun();
    await sent;
    await expect.poll(() => chat.current.isRunning).toBe(false);
    await chat.current.sendMessage("again");
    await expect.poll(() => lines(chat.current).at(-1)).toBe("assistant done: next");
  });

  it("runs tools in the page", async () => {
    const script = ({ prompt }: { prompt: { role: string }[] }) =>
      prompt.some(({ role }) => role === "tool")
        ? "painted"
        : { toolCalls: [{ toolName: "paint", toolCallId: "p1", input: { colour: "blue" } }] };
    const colours: unknown[] = [];
    const paint = {
      description: "Paints the page.",
      execute: ({ context }: { context: unknown }) => colours.push(context),
    };
    const { chat } = await chatWith([script as never], { ...options, clientTools: { paint } });
    await chat.current.sendMessage("Blue!");
    await expect.poll(() => lines(chat.current).at(-1)).toBe("assistant done: painted");
    expect(colours).toEqual([{ colour: "blue" }]);
  });
});

describe("useChat on a live thread", () => {
  it("tells what was sent and where it stands, also for others' messages", async () => {
    const sent: string[] = [];
    const echoed: string[] = [];
    const { reply, hold } = gated();
    const { chat, page } = await chatWith([reply], {
      ...LIVE,
      onSignalSent: ({ id }) => sent.push(id),
      onSignalEcho: ({ id }) => echoed.push(id),
    });
    const { reached, go } = hold();
    await chat.current.sendMessage("mine");
    await reached;
    // A run that ends before the thread is followed is only read as stored messages.
    await expect.poll(() => echoed).toHaveLength(1);
    go();
    await expect.poll(() => lines(chat.current)).toHaveLength(2);
    await page.agent.sendMessage({ contents: "theirs", id: "m2" }, HERE).admitted;
    await expect.poll(() => lines(chat.current)).toHaveLength(4);
    expect(echoed).toEqual([...sent, "m2"]);
    expect(sent).toHaveLength(1);
  });

  const OLDER = [
    ["404", () => new Response("no such route", { status: 404 })],
    ["405", () => new Response("no such method", { status: 405 })],
    ["501", () => new Response("not here", { status: 501 })],
    ["400", () => Response.json({ error: "No active run for this thread" }, { status: 400 })],
  ] as const;

  /** A chat with a server that answers some routes as an older one does. */
  async function chatWithOlder(
    script: Parameters<typeof served>[0],
    missing: RegExp,
    refuse: () => Response,
  ) {
    const page = await served(script);
    const asked: string[] = [];
    const errors: Error[] = [];
    const client = new MastraClient({
      baseUrl: page.server.url,
      fetch: async (url, init) => {
        const route = /\/weaver\/(send-message|signals|stream)$/.exec(url)?.[1];
        if (route) asked.push(route);
        return missing.test(url) ? refuse() : fetch(url, init);
      },
    });
    const onThreadSignalsUnsupported = (error: Error) => errors.push(error);
    const chat = renderHook(() =>
      useChat({ client, agentId: "weaver", ...LIVE, onThreadSignalsUnsupported }),
    );
    open.add(() => page.close()).add(() => chat.unmount());
    await expect.poll(() => chat.all.length).toBeGreaterThan(0);
    return { page, chat, asked, errors };
  }

  it.each(OLDER)(
    "sends signals to a server that answers %s to messages, and stays live",
    async (_, refuse) => {
      const { page, chat, asked, errors } = await chatWithOlder(() => "ok", /\/send-message$/, refuse);
      await chat.current.sendMessage("one");
      await expect.poll(() => lines(chat.current)).toEqual(["user done: one", "assistant done: ok"]);
      await chat.current.sendMessage("two");
      await expect.poll(() => lines(chat.current)).toHaveLength(4);
      await page.agent.sendMessage("theirs", HERE).admitted;
      await expect
        .poll(() => lines(chat.current).slice(4))
        .toEqual(["user done: theirs", "assistant done: ok"]);
      expect([asked, errors]).toEqual([["send-message", "signals", "signals"], []]);
    },
  );

  it.each(OLDER)("goes on with single calls where signals are answered with %s too", async (_, refuse) => {
    const missing = /\/(send-message|signals)$/;
    const { page, chat, asked, errors } = await chatWithOlder(() => "ok", missing, refuse);
    await page.agent.sendMessage("before", HERE).admitted;
    await expect.poll(() => lines(chat.current)).toEqual(["user done: before", "assistant done: ok"]);
    await chat.current.sendMessage("Hi");
    await expect
      .poll(() => lines(chat.current))
      .toEqual(["user done: before", "assistant done: ok", "user done: Hi", "assistant done: ok"]);
    await chat.current.sendMessage("again");
    await expect.poll(() => lines(chat.current)).toHaveLength(6);
    expect([asked, errors.length]).toEqual([["send-message", "signals", "stream", "stream"], 1]);
  });

  it("shows the messages it was given until the thread's own are there", async () => {
    const first = {
      id: "old",
      role: "user",
      createdAt: "2026-01-01T00:00:00.000Z",
      parts: [{ type: "text", text: "old" }],
      state: "done",
    } as const;
    const { chat } = await chatWith([["Hello."]], { ...HERE, initialMessages: [first] });
    expect(lines(chat.all[0]!)).toEqual(["user done: old"]);
    chat.current.setMessages([]);
    await expect.poll(() => lines(chat.current)).toEqual([]);
  });
});
