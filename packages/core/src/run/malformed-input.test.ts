import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith, bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { MessageList } from "../message/message-list.ts";
import { realSystem } from "../system.ts";
import { createTool } from "../tool/tool.ts";

const CUT = '{"city": "Os';

const tools = (inputSchema?: unknown) => ({
  t: createTool({
    id: "t",
    description: "",
    ...(inputSchema !== undefined && { inputSchema }),
    execute: async () => expect.fail("ran"),
  } as never),
});

describe("input of a tool that is not an object", () => {
  it.each([
    ["cut text", CUT, CUT],
    ["a text", '"Oslo"', "Oslo"],
    ["a list", '["Oslo"]', '["Oslo"]'],
    ["a number", "5", "5"],
    ["a truth value", "true", "true"],
  ])("goes back to the model as an object, with %s in the result", async (_, input, rawInput) => {
    for (const schema of [undefined, z.object({ city: z.string() }), { type: "object" }]) {
      const memory = bareMemory();
      const script = [{ toolCalls: [{ toolName: "t", input }] }, "sorry"];
      const { agent, model } = agentWith(script, { tools: tools(schema), memory });
      await agent.generate("go", { memory: { thread: "t", resource: "r" } });
      const stored = await memory.storage!.getStore("memory");
      const { messages } = await stored!.listMessages({ threadId: "t" });
      const later = new MessageList(realSystem).prepend(messages).toPrompt();
      for (const prompt of [model.calls[1]!.prompt, later] as any[]) {
        const call = prompt.find(({ role }: any) => role === "assistant").content[0];
        expect(call).toMatchObject({ type: "tool-call", input: {} });
        const [{ output }] = prompt.find(({ role }: any) => role === "tool").content;
        expect(output).toMatchObject({ type: "error-json", value: { error: true, rawInput } });
      }
    }
  });

  it("is shown to the model up to a limit", () => {
    const toolInvocation = {
      state: "call",
      toolCallId: "c",
      toolName: "t",
      args: `{"a": "${"x".repeat(1e6)}`,
    };
    const message = { role: "assistant", parts: [{ type: "tool-invocation", toolInvocation }] };
    const prompt = new MessageList(realSystem).add(message, "input").toPrompt();
    expect(JSON.stringify(prompt).length).toBeLessThan(5000);
    expect(JSON.stringify(prompt)).toContain("1000007 characters");
  });

  it("stays text where the tool took it", () => {
    const part = { state: "result", toolCallId: "c", toolName: "t", args: "SELECT 1", result: [1] };
    const message = { role: "assistant", parts: [{ type: "tool-invocation", toolInvocation: part }] };
    const [call] = new MessageList(realSystem).add(message, "input").toPrompt();
    expect(call).toMatchObject({ content: [{ input: "SELECT 1" }] });
  });
});
