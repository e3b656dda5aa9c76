import { describe, expect, it } from "vitest";
import type { ScriptedReply } from "@selvedge/testing";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { RequestContext, RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, bareMemory, chunksOf } from "./__fixtures__/agent-with.ts";

const ask = (input: object): ScriptedReply => ({ toolCalls: [{ toolName: "agent-helper", input }] });

describe("a subagent", () => {
  it("is a tool whose chunks appear in the parent's stream and whose text is the result", async () => {
    const helper = agentWith([{ text: ["4", "2"] }], { description: "Counts." });
    const { agent, model } = agentWith([ask({ prompt: "Count!" }), "It is 42."], {
      agents: { helper: helper.agent },
    });
    const output = await agent.stream("How many?");
    const nested = (await chunksOf(output))
      .filter((chunk) => chunk.type === "tool-output")
      .map((chunk) => (chunk as any).payload.output);
    expect(nested.map((chunk) => chunk.type)).toEqual([
      "start",
      "step-start",
      "text-start",
      "text-delta",
      "text-delta",
      "text-end",
      "step-finish",
      "finish",
    ]);
    expect(nested.filter((chunk) => chunk.type === "text-delta").map((chunk) => chunk.payload.text)).toEqual([
      "4",
      "2",
    ]);
    expect(model.calls[0]!.tools).toMatchObject([
      { name: "agent-helper", description: "Counts.", inputSchema: { required: ["prompt"] } },
    ]);
    expect(await output.toolResults).toMatchObject([{ result: { text: "42" } }]);
    expect(helper.model.calls[0]!.prompt.at(-1)).toMatchObject({ content: [{ text: "Count!" }] });
  });

  it("takes instructions and a number of steps from the call", async () => {
    const t = createTool({ id: "t", description: "", execute: async () => 1 });
    const helper = agentWith(() => ({ toolCalls: [{ toolName: "t", input: {} }] }), { tools: { t } });
    const { agent } = agentWith([ask({ prompt: "x", instructions: "Other.", maxSteps: 2 }), "done"], {
      agents: async () => ({ helper: helper.agent }),
    });
    await agent.generate("go");
    expect(helper.model.calls).toHaveLength(2);
    expect(helper.model.calls[0]!.prompt[0]!.content).toBe("Other.");
  });

  it("keeps a thread of its own under a resource derived from the parent's, whatever the model names", async () => {
    const storage = new InMemoryStorage();
    const memory = bareMemory(storage);
    const helper = agentWith(["a", "b"], { memory });
    const { agent } = agentWith(
      [
        ask({ prompt: "one", resourceId: "victim" }),
        "done",
        ask({ prompt: "two", threadId: "stolen", resourceId: "victim" }),
        "done",
      ],
      { memory, agents: { helper: helper.agent } },
    );
    const domain = (await storage.getStore("memory"))!;
    await domain.saveThread({
      thread: { id: "stolen", resourceId: "victim", createdAt: new Date(), updatedAt: new Date() },
    });
    const options = {
      memory: { thread: "t", resource: "me" },
      requestContext: new RequestContext([
        [THREAD_ID_KEY, "t"],
        [RESOURCE_ID_KEY, "me"],
      ]),
    };
    const first = await agent.generate("go", options);
    const { subAgentThreadId, subAgentResourceId } = first.toolResults[0]!.result as Record<string, string>;
    expect(subAgentResourceId).toBe("me/agent-helper");
    expect((await domain.getThreadById({ threadId: subAgentThreadId! }))?.resourceId).toBe("me/agent-helper");
    const second = await agent.generate("go", options);
    expect(second.toolResults[0]).toMatchObject({ isError: true });
    expect(await domain.recentMessages({ threadId: "stolen", limit: 5 })).toEqual([]);
    expect(helper.model.calls).toHaveLength(1);
  });

  it("stops when its parent is aborted", async () => {
    const helper = agentWith([{ text: ["a", "b"], hang: { after: 3 } }]);
    const { agent } = agentWith([ask({ prompt: "x" })], { agents: { helper: helper.agent } });
    const controller = new AbortController();
    const output = await agent.stream("go", { abortSignal: controller.signal });
    for await (const chunk of output.fullStream)
      if (chunk.type === "tool-output") setTimeout(() => controller.abort(), 5);
    expect(await output.finishReason).toBe("aborted");
    expect(helper.model.calls[0]!.abortSignal!.aborted).toBe(true);
  });

  it("tells the parent's model when it fails, is stopped or waits", async () => {
    const t = createTool({ id: "t", description: "", requireApproval: true, execute: async () => 1 });
    const cases = [
      agentWith([{ error: new Error("down") }], { maxRetries: 0 }),
      agentWith(["x"], {
        inputProcessors: [{ id: "no", processInput: ({ abort }) => abort("not allowed") }],
      }),
      agentWith([{ toolCalls: [{ toolName: "t", input: {} }] }], { tools: { t } }),
    ];
    const said = await Promise.all(
      cases.map(async (helper) => {
        const { agent, model } = agentWith([ask({ prompt: "x" }), "done"], {
          agents: { helper: helper.agent },
        });
        expect((await agent.generate("go")).text).toBe("done");
        return JSON.stringify(model.calls[1]!.prompt.at(-1));
      }),
    );
    expect(said[0]).toContain("down");
    expect(said[1]).toContain("not allowed");
    expect(said[2]).toContain("cannot wait");
  });
});
