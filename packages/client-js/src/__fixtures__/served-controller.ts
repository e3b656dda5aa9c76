import { Agent, createTool, Mastra, silentLogger } from "@selvedge/core";
import { AgentController } from "@selvedge/core/agent-controller";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { serve, type RunningServer, type ServeOptions } from "@selvedge/server/node";
import { type Script, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { MastraClient } from "../mastra-client.ts";

export interface ServedController {
  controller: AgentController;
  model: ScriptedModel;
  server: RunningServer;
  client: MastraClient;
  ran: unknown[];
  close(): Promise<void>;
}

/** A controller, `loom`, with the modes `plan` (default) and `build` behind a real server on loopback. */
export async function servedController(
  script: Script,
  { storage = new InMemoryStorage(), ...options }: Omit<ServeOptions, "mastra"> & { storage?: Storage } = {},
): Promise<ServedController> {
  const model = scriptedModel(script);
  const ran: unknown[] = [];
  const tools = {
    write: createTool({
      id: "write",
      description: "Writes.",
      execute: async ({ context }) => {
        ran.push(context);
        return "written";
      },
    }),
    read: createTool({ id: "read", description: "Reads.", execute: async () => "x".repeat(100_000) }),
  };
  const agent = new Agent({ name: "weaver", instructions: "Weave.", model, tools, memory: new Memory() });
  const controller = new AgentController({
    id: "loom",
    agent: agent as unknown as Agent,
    modes: [{ id: "plan", metadata: { default: true }, transitionsTo: "build" }, { id: "build" }],
    toolCategoryResolver: (name) => (name === "write" ? "edit" : name === "read" ? "read" : null),
  });
  const mastra = new Mastra({ agentControllers: { loom: controller }, storage, logger: silentLogger });
  const server = await serve({ mastra, port: 0, ...options });
  const client = new MastraClient({ baseUrl: server.url, backoffMs: 5 });
  const close = async () => {
    await server.close();
    await mastra.close();
  };
  return { controller, model, server, client, ran, close };
}
