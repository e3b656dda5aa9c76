import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import type { Script, ScriptedCall } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { call, controllerWith, Listener, systemOf, toolsOf } from "./__fixtures__/controller-with.ts";

const open = { id: "s", ownerId: "o" };
const helper = {
  id: "helper",
  name: "Helper",
  description: "Helps.",
  instructions: "You are the helper.",
  allowedAgentControllerTools: ["ask_user"],
};
const delegate = (more: object = {}) =>
  call("subagent", { agentType: "helper", task: "Look around", ...more }, "d1");
const isHelper = ({ prompt }: ScriptedCall) => JSON.stringify(prompt).includes("You are the helper.");
const says = ({ prompt }: ScriptedCall, words: string) => JSON.stringify(prompt).includes(words);

/** Delegates, and says what came of it. */
const parent = (asked: ScriptedCall, delegating = delegate()) =>
  says(asked, '"d1"') ? "All done." : delegating;

function dangerous() {
  const ran: string[] = [];
  const danger = createTool({
    id: "danger",
    description: "Dangerous.",
    execute: async () => {
      ran.push("danger");
      return "boom";
    },
  });
  return { ran, subagents: [{ ...helper, tools: { danger } }] };
}

describe("a subagent", () => {
  it("works with its own instructions and tools, on a thread that lists do not show", async () => {
    const script: Script = (asked) => (isHelper(asked) ? "Nothing here." : parent(asked));
    const { controller, model } = controllerWith(script, { subagents: [helper] });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(systemOf(model, 1)).toBe("You are the helper.");
    expect(toolsOf(model, 1)).toEqual(["ask_user"]);
    expect(JSON.stringify(model.calls[1]!.prompt)).not.toContain('"Go"');
    expect(JSON.stringify(model.calls[2]!.prompt)).toContain("Nothing here.");
    expect(listener.types.filter((type) => type.startsWith("subagent"))).toEqual([
      "subagent_start",
      "subagent_text_delta",
      "subagent_end",
    ]);
    expect(listener.all("subagent_end")).toMatchObject([
      { toolCallId: "d1", agentType: "helper", result: "Nothing here.", isError: false },
    ]);
    const own = await session.thread.ofSubagent({ toolCallId: "d1" });
    const said = await session.thread.listMessages({ threadId: own!.id });
    expect(said.map(({ content }) => content)).toMatchObject([
      [{ text: "Look around" }],
      [{ text: "Nothing here." }],
    ]);
    expect(await session.thread.ofSubagent({ toolCallId: "d2" })).toBeNull();
    expect(await session.thread.list()).toHaveLength(1);
    expect(await session.thread.list({ includeForkedSubagents: true })).toHaveLength(2);
  });

  it("is under the rules of the session: what it may not do is denied, what it must ask is asked at the parent", async () => {
    const { ran, subagents } = dangerous();
    const script: Script = (asked) =>
      isHelper(asked) ? (says(asked, "boom") ? "It exploded." : call("danger", {}, "x1")) : parent(asked);
    const { controller, model } = controllerWith(script, { subagents });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Go" });
    expect(await listener.until("tool_approval_required")).toMatchObject({
      toolCallId: "x1",
      toolName: "danger",
      parentToolCallId: "d1",
    });
    expect(ran).toEqual([]);
    expect(listener.types).not.toContain("agent_end");
    expect(session.displayState.get().pendingApprovals.size).toBe(1);
    await session.respondToToolApproval({ decision: "approve" });
    await sent;
    expect(ran).toEqual(["danger"]);
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("It exploded.");
    expect(session.displayState.get().pendingApprovals.size).toBe(0);
    expect(listener.all("agent_start")).toHaveLength(1);

    await session.permissions.setForTool({ toolName: "danger", policy: "deny" });
    const denied = await controller.createSession({ ...open, id: "t" });
    await denied.permissions.setForTool({ toolName: "danger", policy: "deny" });
    await denied.thread.create();
    await denied.sendMessage({ content: "Go" }).catch(() => {});
    expect(ran).toEqual(["danger"]);
  });

  it("hands its questions to the person, and the answers to the subagent", async () => {
    const script: Script = (asked) =>
      isHelper(asked)
        ? says(asked, "blue")
          ? "Blue it is."
          : call("ask_user", { question: "Which colour?" }, "q1")
        : parent(asked);
    const { controller, model } = controllerWith(script, { subagents: [helper] });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(listener.all("tool_suspended")).toMatchObject([
      {
        toolCallId: "q1",
        toolName: "ask_user",
        parentToolCallId: "d1",
        suspendPayload: { question: "Which colour?" },
      },
    ]);
    expect(listener.all("agent_end")).toMatchObject([{ reason: "suspended" }]);
    await session.respondToToolSuspension({ resumeData: "blue", toolCallId: "q1" });
    await listener.until("agent_end", 2);
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("Blue it is.");
    expect(session.suspensions.hasPending()).toBe(false);
  });

  it("ends with the run that is aborted while it waits", async () => {
    const { subagents } = dangerous();
    const script: Script = (asked) => (isHelper(asked) ? call("danger", {}, "x1") : parent(asked));
    const { controller } = controllerWith(script, { subagents });
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    const sent = session.sendMessage({ content: "Go" });
    await listener.until("tool_approval_required");
    session.abort();
    await sent;
    expect(listener.all("agent_end")).toMatchObject([{ reason: "aborted" }]);
    expect(session.displayState.get().pendingApprovals.size).toBe(0);
    const agent = controller.getCurrentAgent();
    for (let turn = 0; turn < 500 && (await agent.listSuspendedRuns()).total > 0; turn++)
      await new Promise((resolve) => setTimeout(resolve, 5));
    expect((await agent.listSuspendedRuns()).total).toBe(0);
  });

  it("answers the model with an error where there is no such subagent", async () => {
    const { controller, model } = controllerWith(
      (asked) => parent(asked, call("subagent", { agentType: "none", task: "x" }, "d1")),
      { subagents: [helper] },
    );
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("agentType");
  });

  it("uses the model of the call, of the session, or its own, in this order", async () => {
    const used: string[] = [];
    const script: Script = (asked) => (isHelper(asked) ? "Yes." : "unused");
    const { controller, model } = controllerWith(script, {
      subagents: [{ ...helper, defaultModelId: "acme/own" }],
      resolveModel: (id) => {
        used.push(id);
        return made.model as never;
      },
    });
    void model;
    let delegated = 0;
    const made = controllerWith((asked) => {
      if (isHelper(asked)) return "Yes.";
      return ++delegated % 2 === 1 ? delegate(delegated === 5 ? { modelId: "acme/called" } : {}) : "Done.";
    });
    const session = await controller.createSession(open);
    await session.model.switch({ modelId: "acme/main" });
    await session.sendMessage({ content: "1" });
    await session.subagents.model.set({ modelId: "acme/session" });
    await session.sendMessage({ content: "2" });
    await session.sendMessage({ content: "3" });
    expect(used.filter((id) => id !== "acme/main")).toEqual(["acme/own", "acme/session", "acme/called"]);
  });
});

describe("a forked subagent", () => {
  const forking = { ...helper, id: "fork", forked: true };
  it("begins with the request of its parent, to the byte, and leaves the parent's thread alone", async () => {
    const storage = new InMemoryStorage();
    const made = controllerWith(
      (asked) => {
        const last = JSON.stringify(asked.prompt.at(-1));
        if (last.includes("not available inside")) return "From the fork.";
        if (last.includes("From the fork.")) return "All done.";
        return last.includes("Try another way")
          ? call("subagent", { agentType: "fork", task: "Again" }, "f2")
          : call("subagent", { agentType: "fork", task: "Try another way" }, "d1");
      },
      { storage, memory: new Memory({ storage }), subagents: [forking] },
    );
    const { controller, model } = made;
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Remember 42." });
    const [first, fork] = [model.calls[0]!, model.calls[1]!];
    expect(JSON.stringify(fork.tools)).toBe(JSON.stringify(first.tools));
    const prefix = JSON.stringify(first.prompt).slice(0, -1);
    expect(JSON.stringify(fork.prompt).startsWith(prefix)).toBe(true);
    expect(JSON.stringify(fork.prompt)).toContain("Try another way");
    expect(JSON.stringify(model.calls[2]!.prompt)).toContain("not available inside a forked subagent");
    const threads = await session.thread.list({ includeForkedSubagents: true });
    const copy = threads.find(({ metadata }) => metadata?.["forkedSubagent"] === true);
    expect(copy!.metadata).toMatchObject({ parentThreadId: session.thread.getId() });
    expect(await session.thread.list()).toHaveLength(1);
    const own = JSON.stringify(await session.thread.listActiveMessages());
    expect(own).toContain("From the fork.");
    expect(own).not.toContain('"f2"');
  });

  it("is an error result where there is no memory", async () => {
    const { controller, model } = controllerWith(
      (asked) => parent(asked, call("subagent", { agentType: "fork", task: "x" }, "d1")),
      { subagents: [forking] },
    );
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("A fork needs a memory");
  });
});

describe("a subagent of a process that is gone", () => {
  let folder: string;
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "selvedge-"))));
  afterEach(() => rmSync(folder, { recursive: true }));
  const store = () => new LibSQLStore({ url: `file:${join(folder, "store.db")}` });

  it("waits in the store, and goes on with its parent in the process that answers", async () => {
    const { ran, subagents } = dangerous();
    const script: Script = (asked) =>
      isHelper(asked) ? (says(asked, "boom") ? "It exploded." : call("danger", {}, "x1")) : parent(asked);
    const first = controllerWith(script, { subagents, storage: store() });
    const session = await first.controller.createSession(open);
    const listener = new Listener(session);
    void session.sendMessage({ content: "Go" });
    await listener.until("tool_approval_required");
    await first.controller.destroy();
    await first.storage.close();
    const second = controllerWith(script, { subagents, storage: store() });
    const again = await second.controller.createSession(open);
    expect(again.displayState.get().pendingApproval).toMatchObject({
      toolCallId: "x1",
      parentToolCallId: "d1",
    });
    const events = new Listener(again);
    await again.respondToToolApproval({ decision: "approve" });
    await events.until("agent_end");
    expect(ran).toEqual(["danger"]);
    expect(JSON.stringify(second.model.calls.at(-1)!.prompt)).toContain("It exploded.");
    await second.controller.destroy();
    await second.storage.close();
  });
});
