import { createTool } from "@selvedge/core/tools";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, describe, expect, it } from "vitest";
import { renderHook } from "./__fixtures__/render.ts";
import { gated, HERE, type Page, served } from "./__fixtures__/served-agent.ts";
import { withDocument } from "./__fixtures__/with-document.ts";
import { MastraReactProvider, type ThreadMessage, useThread, type UseThreadResult } from "./index.ts";

withDocument();

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].reverse()) await close();
  open.clear();
});

async function world(...args: Parameters<typeof served>): Promise<Page> {
  const made = await served(...args);
  open.add(() => made.close());
  return made;
}

/** A page that shows the thread. */
async function show(page: Page, more: Partial<Parameters<typeof useThread>[0]> = {}) {
  const rendered = renderHook(() => useThread({ client: page.client, agentId: "weaver", ...HERE, ...more }));
  open.add(() => rendered.unmount());
  await expect.poll(() => rendered.all.at(-1)?.status).toBe("ready");
  return rendered;
}

const lines = ({ messages }: UseThreadResult) => messages.map(line);
const line = ({ role, parts, state }: ThreadMessage) =>
  `${role} ${state}: ${parts.map((part) => (part.type === "text" ? part.text : "")).join("")}`;

describe("useThread", () => {
  it("shows a message at once, and once, from sending to the answer", async () => {
    const { reply, hold } = gated();
    const page = await world(reply);
    const thread = await show(page);
    const { reached, go } = hold();
    const sent = thread.current.sendMessage("Hi");
    await expect.poll(() => lines(thread.current)).toEqual(["user sending: Hi"]);
    await sent;
    await reached;
    await expect.poll(() => lines(thread.current)[0]).toBe("user done: Hi");
    expect(thread.current.run?.state).toBe("running");
    go();
    await expect.poll(() => lines(thread.current)).toEqual(["user done: Hi", "assistant done: Answer 1."]);
    expect(thread.current.run).toBeUndefined();
    // At no time was it shown twice, or with another id.
    const ids = new Set(
      thread.all.flatMap(({ messages }) =>
        messages.filter(({ role }) => role === "user").map(({ id }) => id),
      ),
    );
    expect(ids.size).toBe(1);
    for (const { messages } of thread.all)
      expect(new Set(messages.map(({ id }) => id)).size).toBe(messages.length);
  });

  it("keeps what was stored under the ids that were streamed", async () => {
    const page = await world(["Hello."]);
    const thread = await show(page);
    await thread.current.sendMessage("Hi");
    await expect.poll(() => thread.current.messages.at(-1)?.state).toBe("done");
    await thread.current.refresh();
    const { messages } = await page.client.getMemoryThread(HERE).listMessages();
    expect(thread.current.messages.map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
  });

  it("shows two pages the same thread, the second one from the middle of a run", async () => {
    const { reply, hold } = gated({ text: ["one ", "two ", "three"], chunkDelayMs: 0 });
    const page = await world(reply);
    const first = await show(page);
    const { reached, go } = hold();
    await first.current.sendMessage("Hi");
    await reached;
    const second = await show(page);
    expect(second.current.run?.runId).toBe(first.current.run?.runId);
    go();
    const whole = ["user done: Hi", "assistant done: one two three"];
    await expect.poll(() => lines(first.current)).toEqual(whole);
    await expect.poll(() => lines(second.current)).toEqual(whole);
    for (const { messages } of second.all)
      expect(messages.filter(({ role }) => role === "assistant").length).toBeLessThan(2);
  });

  it("has a queue that is seen, edited and taken back", async () => {
    const { reply, hold } = gated();
    const page = await world(reply);
    const thread = await show(page);
    const { reached, go } = hold();
    await thread.current.sendMessage("one");
    await reached;
    await thread.current.queueMessage("two");
    await thread.current.queueMessage("three");
    expect(thread.current.queue.map(({ signal }) => signal.contents)).toEqual(["two", "three"]);
    const [two, three] = thread.current.queue;
    await thread.current.editQueued(two!.id, "two, better");
    await thread.current.removeQueued(three!.id);
    await expect
      .poll(() => thread.current.queue.map(({ signal }) => signal.contents))
      .toEqual(["two, better"]);
    go();
    await expect
      .poll(() => lines(thread.current))
      .toEqual([
        "user done: one",
        "assistant done: Answer 1.",
        "user done: two, better",
        "assistant done: Answer 2.",
      ]);
    expect(thread.current.queue).toEqual([]);
    await expect(thread.current.editQueued(two!.id, "late")).rejects.toMatchObject({ code: "not-found" });
  });

  it("puts a message into the run under way, where the run reads it", async () => {
    const { reply, hold } = gated();
    const page = await world(reply);
    const thread = await show(page);
    const { reached, go } = hold();
    await thread.current.sendMessage("one");
    await reached;
    await thread.current.sendMessage("two");
    await expect.poll(() => lines(thread.current)).toEqual(["user done: one", "user waiting: two"]);
    go();
    await expect
      .poll(() => lines(thread.current))
      .toEqual([
        "user done: one",
        "assistant done: Answer 1.",
        "user done: two",
        "assistant done: Answer 2.",
      ]);
  });

  it("asks a person and goes on with the answer", async () => {
    const ran: string[] = [];
    const danger = createTool({
      id: "danger",
      description: "Breaks things.",
      requireApproval: true,
      execute: async () => {
        ran.push("danger");
        return "broken";
      },
    });
    const page = await world(
      [{ toolCalls: [{ toolName: "danger", toolCallId: "d1", input: { what: "it" } }] }, "done"],
      {
        tools: { danger },
      },
    );
    const thread = await show(page);
    await thread.current.sendMessage("go");
    await expect.poll(() => thread.current.run?.state).toBe("suspended");
    expect(thread.current.approvals).toMatchObject([
      { toolCallId: "d1", toolName: "danger", args: { what: "it" } },
    ]);
    // Somebody who opens the page now is asked too.
    const late = await show(page);
    await expect.poll(() => late.current.approvals.map(({ toolCallId }) => toolCallId)).toEqual(["d1"]);
    await late.current.approve("d1");
    await expect.poll(() => lines(thread.current).at(-1)).toMatch(/done: done$/);
    expect([thread.current.approvals, late.current.approvals, ran]).toEqual([[], [], ["danger"]]);
    const call = thread.current.messages
      .flatMap(({ parts }) => parts)
      .find((part) => part.type === "tool-invocation");
    expect(call).toMatchObject({ toolInvocation: { state: "result", result: "broken" } });
    await expect(thread.current.approve("d1")).rejects.toMatchObject({ code: /already-decided|not-found/ });
  });

  it("aborts, and shows how far the answer came", async () => {
    const page = await world([
      { text: ["one "], hang: false },
      { text: ["two "], delayMs: 60_000 },
    ]);
    const thread = await show(page);
    await thread.current.sendMessage("Hi");
    await expect.poll(() => lines(thread.current).at(-1)).toBe("assistant done: one ");
    await thread.current.sendMessage("More");
    await expect.poll(() => thread.current.run?.state).toBe("running");
    expect(await thread.current.abort()).toBe(true);
    await expect.poll(() => thread.current.run).toBeUndefined();
  });

  it("shows a message that was not accepted as failed, and a run that failed with its error", async () => {
    const page = await world([{ error: new Error("The loom is broken.") }], { maxRetries: 0 });
    const thread = await show(page);
    await thread.current.sendMessage("Hi");
    const failure = { code: "model-failed", message: expect.stringContaining("The loom is broken.") };
    await expect.poll(() => thread.current.runError).toMatchObject(failure);
    // Somebody who opens the page later is told, too.
    const late = await show(page);
    await expect.poll(() => late.current.runError).toMatchObject(failure);
    await expect(thread.current.sendMessage("x".repeat(2 << 20))).rejects.toMatchObject({
      code: "limit-exceeded",
    });
    await expect.poll(() => thread.current.messages.at(-1)?.state).toBe("failed");
    expect(thread.current.messages.at(-1)?.error).toMatchObject({ code: "limit-exceeded" });
  });

  it("shows what another way of asking asked, too", async () => {
    const page = await world(["Hello."]);
    const thread = await show(page);
    await page.client
      .getAgent("weaver")
      .generate("Hi", { memory: { thread: HERE.threadId, resource: HERE.resourceId } });
    await expect.poll(() => lines(thread.current)).toEqual(["user done: Hi", "assistant done: Hello."]);
  });

  it("loads earlier messages without doubling any", async () => {
    const page = await world(() => "ok");
    const agent = page.client.getAgent("weaver");
    const memory = { thread: HERE.threadId, resource: HERE.resourceId };
    for (let index = 0; index < 6; index++) await agent.generate(`message ${index}`, { memory });
    const thread = await show(page, { perPage: 5 });
    expect([thread.current.messages.length, thread.current.hasMore]).toEqual([5, true]);
    while (thread.current.hasMore) {
      await thread.current.loadEarlier();
      await expect.poll(() => thread.current.messages.length).toBeGreaterThan(5);
    }
    const users = thread.current.messages.filter(({ role }) => role === "user").map(line);
    expect(users).toEqual(Array.from({ length: 6 }, (_, index) => `user done: message ${index}`));
  });

  it("says that it is reconnecting while the server is away, and misses nothing", async () => {
    const page = await world(() => "ok");
    const thread = await show(page);
    await thread.current.sendMessage("one");
    await expect.poll(() => lines(thread.current).length).toBe(2);
    await page.restart(async () => {
      await expect.poll(() => thread.current.connection).toBe("reconnecting");
      await page.agent.sendMessage("while away", HERE).admitted;
    });
    await expect
      .poll(() => lines(thread.current))
      .toEqual(["user done: one", "assistant done: ok", "user done: while away", "assistant done: ok"]);
    expect(thread.current.connection).toBe("live");
  });

  it("holds one line in strict mode, and none after it has left", async () => {
    const page = await world(["Hello."]);
    const thread = await show(page);
    expect(page.server.server.streamCount).toBe(1);
    thread.unmount();
    await expect.poll(() => page.server.server.streamCount).toBe(0);
  });

  it("gives the same functions and messages as long as nothing changes", async () => {
    const page = await world(["Hello."]);
    const thread = await show(page);
    const before = thread.current;
    const renders = thread.all.length;
    thread.rerender();
    await expect.poll(() => thread.all.length).toBeGreaterThan(renders);
    expect(thread.current).toBe(before);
  });

  it("renders on a server, without a line", async () => {
    const page = await world(["Hello."]);
    function View() {
      return createElement("p", null, useThread({ agentId: "weaver", ...HERE }).status);
    }
    const html = renderToString(
      createElement(MastraReactProvider, { client: page.client }, createElement(View)),
    );
    expect(html).toBe("<p>loading</p>");
    expect(page.server.server.streamCount).toBe(0);
  });

  it("runs tools in the page", async () => {
    const page = await world(({ prompt }) =>
      prompt.some(({ role }) => role === "tool")
        ? "painted"
        : { toolCalls: [{ toolName: "paint", toolCallId: "p1", input: { colour: "blue" } }] },
    );
    let colour = "white";
    const paint = {
      description: "Paints the page.",
      execute: ({ context }: { context: unknown }) => {
        ({ colour } = context as { colour: string });
        return { ok: true };
      },
    };
    const thread = await show(page, { clientTools: { paint } });
    await thread.current.sendMessage("Blue!");
    await expect.poll(() => lines(thread.current).at(-1)).toBe("assistant done: painted");
    expect(colour).toBe("blue");
  });
});
