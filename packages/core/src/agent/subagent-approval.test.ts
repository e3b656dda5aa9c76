import { describe, expect, it } from "vitest";
import type { ScriptedReply } from "@selvedge/testing";
import { Memory } from "@selvedge/memory";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, chunksOf } from "./__fixtures__/agent-with.ts";

const ask: ScriptedReply = { toolCalls: [{ toolName: "agent-helper", input: { prompt: "x" } }] };

describe.each([true, false])("a subagent's tool that needs a person (memory: %s)", (withMemory) => {
  const ran: string[] = [];
  const plain = createTool({ id: "plain", description: "", execute: async () => void ran.push("plain") });
  const tools = {
    plain,
    asks: createTool({
      id: "asks",
      description: "",
      requireApproval: true,
      execute: async () => void ran.push("asks"),
    }),
    suspends: createTool({ id: "suspends", description: "", execute: async (_, { suspend }) => suspend({}) }),
  };

  async function run(toolName: string, options: object = {}) {
    ran.length = 0;
    const memory = withMemory ? { memory: new Memory({ storage: new InMemoryStorage() }) } : {};
    const calls = [
      { toolName: "plain", input: {} },
      { toolName, input: {} },
    ];
    const helper = agentWith([{ toolCalls: calls }, "never"], { tools, ...memory, defaultOptions: options });
    const { agent, model } = agentWith([ask, "done"], { agents: { helper: helper.agent }, ...memory });
    const output = await agent.stream("go", withMemory ? { memory: { thread: "t", resource: "r" } } : {});
    const chunks = await chunksOf(output);
    const waiting = [await agent.listSuspendedRuns(), await helper.agent.listSuspendedRuns()];
    return {
      text: await output.text,
      said: JSON.stringify(model.calls[1]!.prompt.at(-1)),
      suspended: waiting.map(({ total }) => total),
      nested: chunks.flatMap((chunk) =>
        chunk.type === "tool-output" ? [(chunk.payload.output as { type: string }).type] : [],
      ),
    };
  }

  it.each([
    ["asks", {}],
    ["plain", { requireToolApproval: true }],
  ])("is refused before any tool of the step runs: %s %o", async (toolName, options) => {
    const { text, said, suspended, nested } = await run(toolName, options);
    expect([text, suspended, ran]).toEqual(["done", [0, 0], []]);
    expect(said).toContain(`Tool \\"${toolName}\\" of agent \\"tester\\" needs approval`);
    expect(nested).not.toContain("tool-call-approval");
    expect(nested.at(-1)).toBe("error");
  });

  it("is refused when it suspends, and nothing is left waiting", async () => {
    const { text, said, suspended, nested } = await run("suspends");
    expect([text, suspended]).toEqual(["done", [0, 0]]);
    expect(said).toContain('Tool \\"suspends\\" of agent \\"tester\\" wants to suspend');
    expect(nested).not.toContain("tool-call-suspended");
  });
});
