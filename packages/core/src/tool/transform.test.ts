import { describe, expect, it } from "vitest";
import { agentWith, bareMemory, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import type { AgentConfig } from "../agent/agent-config.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "./tool.ts";
import { HIDDEN_PAYLOAD, type ToolTransform } from "./transform.ts";

const SECRET = "hunter2";
const calls = [{ toolName: "login", input: { password: SECRET } }];

async function run(
  transform: ToolTransform | undefined,
  config: Partial<AgentConfig> = {},
  options = {},
  execute: () => unknown = () => ({ token: SECRET }),
) {
  const storage = new InMemoryStorage();
  const login = createTool({ id: "login", description: "", ...(transform && { transform }), execute });
  const { agent, model } = agentWith([{ toolCalls: calls }, "done"], {
    tools: { login },
    memory: bareMemory(storage),
    ...config,
  });
  const output = await agent.stream("go", { memory: { thread: "t", resource: "r" }, ...options });
  const stream = JSON.stringify(await chunksOf(output));
  const domain = await storage.getStore("memory");
  const stored = (await domain!.recentMessages({ threadId: "t", limit: 10 })).at(-1)!;
  const invocation = stored.content.parts.flatMap((part) =>
    part.type === "tool-invocation" ? part.toolInvocation : [],
  )[0]!;
  return { stream, invocation, stored, prompt: JSON.stringify(model.calls[1]?.prompt) };
}

const hide = () => "[hidden]";

describe("transform", () => {
  it("shows readers of the stream the agent's version, in every chunk, and the model the raw one", async () => {
    const { stream, prompt, invocation } = await run(undefined, {
      transform: { transformToolPayload: hide },
    });
    expect(stream).not.toContain(SECRET);
    expect(stream).toContain("[hidden]");
    expect(prompt).toContain(SECRET);
    expect(invocation).toMatchObject({
      args: { password: SECRET },
      transcript: { args: "[hidden]", result: "[hidden]" },
    });
  });

  it("keeps to the targets it is given", async () => {
    const { stream, invocation } = await run(undefined, {
      transform: { transformToolPayload: hide, targets: ["transcript"] },
    });
    expect(stream).toContain(SECRET);
    expect(invocation.transcript).toEqual({ args: "[hidden]", result: "[hidden]" });
  });

  it("lets the tool's own rules win", async () => {
    const rules = { display: { input: () => "in", output: () => "out" } };
    const { stream } = await run(rules, { transform: { transformToolPayload: hide } });
    expect(stream).toContain('"args":"in"');
    expect(stream).toContain('"result":"out"');
    expect(stream).not.toContain(SECRET);
  });

  it("does not show a hidden input piece by piece", async () => {
    const { stream } = await run({ display: { input: hide, output: hide } });
    expect(stream).not.toContain(SECRET);
  });

  it("hides what it failed to transform", async () => {
    const fails = () => {
      throw new Error("oops");
    };
    const { stream, prompt, invocation } = await run(undefined, {
      transform: { transformToolPayload: fails },
    });
    expect(stream).not.toContain(SECRET);
    expect(stream).toContain(HIDDEN_PAYLOAD);
    expect(prompt).toContain(SECRET);
    expect(invocation.transcript).toEqual({ args: HIDDEN_PAYLOAD, result: HIDDEN_PAYLOAD });
  });

  it("covers errors and approvals, also where a page reads them later", async () => {
    const failed = await run(undefined, { transform: { transformToolPayload: hide } }, {}, () => {
      throw new Error(SECRET);
    });
    expect(failed.stream).not.toContain(SECRET);
    const asked = await run(
      undefined,
      { transform: { transformToolPayload: hide } },
      { requireToolApproval: true },
    );
    expect(asked.stream).not.toContain(SECRET);
    expect(JSON.stringify(asked.stored.content.metadata)).not.toContain(SECRET);
    expect(asked.invocation).toMatchObject({
      state: "approval-requested",
      args: { password: SECRET },
      transcript: { args: "[hidden]" },
    });
  });

  it("hides the arguments of a call that is declined", async () => {
    const login = createTool({ id: "login", description: "", requireApproval: true, execute: () => "in" });
    const { agent } = agentWith([{ toolCalls: calls }, "done"], {
      tools: { login },
      transform: { transformToolPayload: hide },
    });
    const output = await agent.stream("go");
    await output.consumeStream();
    const chunks = await chunksOf(await agent.declineToolCall({ runId: output.runId }));
    expect(chunks.map(({ type }) => type)).toContain("tool-output-denied");
    expect(JSON.stringify(chunks)).not.toContain(SECRET);
  });
});
