import { Agent } from "@mastra/core/agent";
import { Mastra } from "@mastra/core/mastra";
import { LibSQLStore } from "@mastra/libsql";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { scripted } from "../model.ts";
import { outcome, type Probes } from "../probe.ts";

function agentOf(id: string) {
  return new Agent({ id, name: `Agent ${id}`, instructions: "x", model: scripted([`from ${id}`]) as any });
}

export const probes: Probes = {
  "getAgent by key": async () => {
    const mastra = new Mastra({ agents: { one: agentOf("first") }, logger: false });
    return (await mastra.getAgent("one").generate("Hi")).text;
  },
  getAgentById: () =>
    new Mastra({ agents: { one: agentOf("first") }, logger: false }).getAgentById("first").name,
  "getAgent of nothing": () => {
    const mastra = new Mastra({ agents: { one: agentOf("first") }, logger: false });
    return outcome(() => (mastra as any).getAgent("two"));
  },
  listAgents: () =>
    Object.keys(
      new Mastra({ agents: { one: agentOf("first"), two: agentOf("second") }, logger: false }).listAgents(),
    ),
  "one agent under two keys": () => {
    const agent = agentOf("first");
    return outcome(() =>
      Object.keys(new Mastra({ agents: { one: agent, two: agent }, logger: false }).listAgents()),
    );
  },
  getStorage: () => {
    const storage = new LibSQLStore({ id: "s", url: ":memory:" });
    return new Mastra({ storage, logger: false }).getStorage() !== undefined;
  },
  "a logger receives messages": () => {
    const seen: string[] = [];
    const logger: any = {
      debug() {},
      info: (text: string) => seen.push(text),
      warn() {},
      error() {},
      trackException() {},
      getTransports: () => new Map(),
    };
    const mastra = new Mastra({ logger });
    mastra.getLogger().info("hello");
    return seen;
  },
  "agents know their host": async () => {
    let host: unknown;
    const look = createTool({
      id: "look",
      description: "Looks",
      inputSchema: z.object({}),
      execute: async (_: any, context: any) => {
        host = context.mastra;
        return 1;
      },
    });
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: scripted([{ calls: [{ tool: "look", input: {} }] }, "ok"]) as any,
      tools: { look },
    });
    const mastra = new Mastra({ agents: { agent }, logger: false });
    await mastra.getAgent("agent").generate("Hi");
    return typeof (host as any)?.getAgent;
  },
  "a storage of the host serves the memory": async () => {
    const { Memory } = await import("@mastra/memory");
    const memory = new Memory({ options: { lastMessages: 5 } });
    const agent = new Agent({
      id: "a",
      name: "a",
      instructions: "x",
      model: scripted(["Hello"]) as any,
      memory: memory as any,
    });
    const mastra = new Mastra({
      agents: { agent },
      storage: new LibSQLStore({ id: "s", url: ":memory:" }),
      logger: false,
    });
    await mastra.getAgent("agent").generate("Hi", { memory: { thread: "t", resource: "r" } });
    return (await memory.recall({ threadId: "t", resourceId: "r" })).messages.length;
  },
  "idGenerator is used": async () => {
    const types = new Set<string>();
    const mastra = new Mastra({
      agents: { one: agentOf("first") },
      idGenerator: (context: any) => {
        types.add(context?.idType);
        return crypto.randomUUID();
      },
      logger: false,
    });
    await mastra.getAgent("one").generate("Hi");
    return types.has("message") || types.has("run");
  },
  addAgent: () => {
    const mastra = new Mastra({ logger: false });
    mastra.addAgent(agentOf("late"), "late");
    return mastra.getAgent("late" as never as string as any).name;
  },
  "tools of the host": () => {
    const look = createTool({
      id: "look",
      description: "Looks",
      inputSchema: z.object({}),
      execute: async () => 1,
    });
    return Object.keys((new Mastra({ tools: { look }, logger: false } as any) as any).listTools() ?? {});
  },
};
