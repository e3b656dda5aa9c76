import { MastraClient } from "@selvedge/client-js";
import { Agent, createTool, Mastra, silentLogger } from "@selvedge/core";
import { AgentController } from "@selvedge/core/agent-controller";
import { InMemoryStorage } from "@selvedge/core/storage";
import type { AgentControllerMessage } from "@selvedge/protocol/session";
import { serve } from "@selvedge/server/node";
import { scriptedModel, type Script } from "@selvedge/testing";
import { afterEach, describe, expect, it } from "vitest";
import { renderHook } from "./__fixtures__/render.ts";
import { withDocument } from "./__fixtures__/with-document.ts";
import { useAgentController } from "./index.ts";

withDocument();

const open = new Set<() => unknown>();
afterEach(async () => {
  for (const close of [...open].toReversed()) await close();
  open.clear();
});

async function served(script: Script): Promise<MastraClient> {
  const write = createTool({ id: "write", description: "Writes.", execute: async () => "written" });
  const agent = new Agent({
    name: "weaver",
    instructions: "Weave.",
    model: scriptedModel(script),
    tools: { write },
  });
  const loom = new AgentController({
    id: "loom",
    agent: agent as unknown as Agent,
    modes: [{ id: "plan" }, { id: "build" }],
    defaultModeId: "plan",
  });
  const storage = new InMemoryStorage();
  const mastra = new Mastra({ agentControllers: { loom }, storage, logger: silentLogger });
  const server = await serve({ mastra, port: 0 });
  open.add(async () => {
    await server.close();
    await mastra.close();
  });
  return new MastraClient({ baseUrl: server.url, backoffMs: 5 });
}

async function show(client: MastraClient) {
  const rendered = renderHook(() => useAgentController({ client, controllerId: "loom", sessionId: "s1" }));
  open.add(() => rendered.unmount());
  await expect.poll(() => rendered.all.at(-1)?.status).toBe("ready");
  return rendered;
}

const lines = (messages: AgentControllerMessage[]) =>
  messages.map(
    ({ role, content }) =>
      `${role}: ${content.map((part) => (part.type === "text" ? part.text : part.type)).join(" ")}`,
  );

describe("useAgentController", () => {
  it("shows one session on two pages: messages, questions, mode and thread", async () => {
    const client = await served([{ toolCalls: [{ toolName: "write", input: {} }] }, "It is written."]);
    const [here, there] = [await show(client), await show(client)];
    expect(here.current).toMatchObject({ modeId: "plan", messages: [], display: { isRunning: false } });
    await here.current.session.send({ content: "Write it" });
    await expect.poll(() => there.current.display.pendingApproval?.toolName).toBe("write");
    await there.current.session.respondToToolApproval({ decision: "approve" });
    const told = ["user: Write it", "assistant: tool_call tool_result It is written."];
    for (const page of [here, there]) {
      await expect.poll(() => lines(page.current.messages).join("\n")).toContain("It is written.");
      await expect.poll(() => page.current.display.isRunning).toBe(false);
      expect(page.current.display.pendingApproval).toBeNull();
    }
    for (const page of [here, there]) await expect.poll(() => lines(page.current.messages)).toEqual(told);
    await here.current.session.mode.switch({ modeId: "build" });
    await expect.poll(() => there.current.modeId).toBe("build");
    const { id } = await there.current.session.thread.create();
    await expect.poll(() => [here.current.threadId, here.current.messages]).toEqual([id, []]);
  });

  it("shows at once what is sent, and one queue on two pages", async () => {
    const client = await served([
      { toolCalls: [{ toolName: "write", input: {} }] },
      { text: "It is written.", delayMs: 50 },
      "Second.",
    ]);
    const [here, there] = [await show(client), await show(client)];
    const sending = here.current.send({ content: "Write it" });
    await expect.poll(() => here.current.sent.map(({ state }) => state)).toEqual(["sending"]);
    await sending;
    await expect.poll(() => there.current.display.pendingApproval?.toolName).toBe("write");
    await expect.poll(() => here.current.sent).toEqual([]);
    expect(lines(here.current.messages)[0]).toBe("user: Write it");
    const queue = (page: typeof here) =>
      page.current.followUps.map(({ content }) =>
        content.map((part) => (part as { text: string }).text).join(),
      );
    for (const content of ["a", "b"]) await here.current.followUp({ content });
    for (const page of [here, there]) await expect.poll(() => queue(page)).toEqual(["a", "b"]);
    const { followUps } = there.current.session;
    await followUps.edit({ id: there.current.followUps[1]!.id, content: "c" });
    for (const page of [here, there]) await expect.poll(() => queue(page)).toEqual(["a", "c"]);
    await followUps.move({ id: there.current.followUps[1]!.id, to: 0 });
    for (const page of [here, there]) await expect.poll(() => queue(page)).toEqual(["c", "a"]);
    await followUps.remove({ id: there.current.followUps[1]!.id });
    for (const page of [here, there]) await expect.poll(() => queue(page)).toEqual(["c"]);
    await here.current.session.permissions.grant({ tools: ["write"] });
    await expect.poll(() => there.current.info?.grants?.tools).toEqual(["write"]);
    await here.current.session.respondToToolApproval({ decision: "approve" });
    for (const page of [here, there]) await expect.poll(() => queue(page)).toEqual([]);
    await expect.poll(() => lines(there.current.messages).at(-1)).toBe("assistant: Second.");
  });

  it("says why a session cannot be opened", async () => {
    const client = await served([]);
    const page = renderHook(() => useAgentController({ client, controllerId: "nobody" }));
    open.add(() => page.unmount());
    await expect.poll(() => page.all.at(-1)?.status).toBe("failed");
    expect(page.current.error).toMatchObject({ code: "not-found" });
  });
});
