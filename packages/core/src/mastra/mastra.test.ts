import { describe, expect, it } from "vitest";
import { agentWith, bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { Agent } from "../agent/agent.ts";
import { silentLogger } from "../logger.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { realSystem } from "../system.ts";
import { createTool } from "../tool/tool.ts";
import { InMemoryVector } from "../vector/in-memory-vector.ts";
import { createStep } from "../workflow/create-step.ts";
import { createWorkflow } from "../workflow/workflow.ts";
import { Mastra } from "./mastra.ts";

describe("Mastra", () => {
  it("finds what is registered, by name and id, and says what there is instead", () => {
    const { agent } = agentWith([], { id: "the-id" });
    const tool = createTool({ id: "t", description: "" });
    const vector = new InMemoryVector();
    const storage = new InMemoryStorage();
    const memory = bareMemory(storage);
    const step = createStep({ id: "s", inputSchema: {}, outputSchema: {}, execute: async () => 1 });
    const workflow = createWorkflow({ id: "the-workflow", inputSchema: {}, outputSchema: {} })
      .then(step)
      .commit();
    const mastra = new Mastra({
      agents: { weather: agent },
      tools: { tool },
      vectors: { vector },
      storage,
      memory: { memory },
      mcpServers: { m: 1 },
      workflows: { w: workflow },
      logger: silentLogger,
    });
    expect(mastra.getAgent("weather")).toBe(agent);
    expect(mastra.getAgentById("the-id")).toBe(agent);
    expect([mastra.listAgents(), mastra.getAgents()]).toEqual([{ weather: agent }, { weather: agent }]);
    expect([
      mastra.getTool("tool"),
      mastra.getVector("vector"),
      mastra.getStorage(),
      mastra.getMemory("memory"),
      mastra.getMCPServer("m"),
      mastra.getWorkflow("w"),
    ]).toEqual([tool, vector, storage, memory, 1, workflow]);
    expect([mastra.getLogger(), Object.keys(mastra.listVectors())]).toEqual([silentLogger, ["vector"]]);
    expect(() => mastra.getAgent("wether" as never)).toThrow(
      expect.objectContaining({ code: "not-found", message: expect.stringContaining("weather") }),
    );
    for (const name of ["constructor", "__proto__", "toString"])
      expect(() => mastra.getTool(name)).toThrow(expect.objectContaining({ code: "not-found" }));
    expect(() => mastra.getAgentById("nobody")).toThrow(/the-id/);
  });

  it("refuses two agents with one id", () => {
    expect(() => new Mastra({ agents: { a: agentWith([]).agent, b: agentWith([]).agent } })).toThrow(
      /same id/,
    );
  });

  it("works empty, and lends its ids, clock and itself to its agents", async () => {
    expect(new Mastra().listAgents()).toEqual({});
    let count = 0;
    class Clock {
      #start = 5;
      now() {
        return this.#start;
      }
      monotonic() {
        return 0;
      }
      setTimer(ms: number, callback: () => void) {
        return realSystem.setTimer(ms, callback);
      }
      newId() {
        return "clock";
      }
      random() {
        return 0;
      }
    }
    let host: unknown;
    const model = agentWith(["ok"]).model;
    const agent = new Agent({ name: "a", instructions: ({ mastra }) => ((host = mastra), "x"), model });
    const mastra = new Mastra({
      agents: { agent },
      system: new Clock(),
      idGenerator: () => `id-${++count}`,
      logger: false,
    });
    const result = await agent.generate("hi");
    expect(host).toBe(mastra);
    expect(result.runId).toMatch(/^id-/);
    expect(result.messages[0]!.createdAt.getTime()).toBe(5);
    expect(mastra.generateId()).toMatch(/^id-/);
  });

  it("starts, closes once, and does not start again", async () => {
    const storage = new InMemoryStorage();
    const mastra = new Mastra({ storage, logger: false });
    await mastra.start();
    await Promise.all([mastra.close(), mastra.close()]);
    await expect(mastra.start()).rejects.toMatchObject({ code: "storage-closed" });
    await expect(storage.count({ table: { name: "x" } as never })).rejects.toMatchObject({
      code: "storage-closed",
    });
  });
});
