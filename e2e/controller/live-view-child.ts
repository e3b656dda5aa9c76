import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { createTool, Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { LibSQLStore } from "@selvedge/libsql";
import { serve } from "@selvedge/server/node";
import { scriptedModel } from "@selvedge/testing";

export interface LiveViewConfig {
  file: string;
  /** The subagent's tool returns when this file exists. Without it, the tool kills the process. */
  gate?: string;
}

/** A process that serves a controller whose agent gives a task to a subagent. */
const config = JSON.parse(process.argv[2]!) as LiveViewConfig;

const asks = (text: string[], toolName: string, input: object) => ({
  text,
  // Asked again, a model makes another call.
  toolCalls: [{ toolName, input, toolCallId: `${toolName}-${process.pid}` }],
});

/** Parent and helper look around in their first step. The call that matters is in the second. */
const model = scriptedModel(({ prompt }) => {
  const isHelper = JSON.stringify(prompt).includes("You are the helper.");
  const results = prompt.filter(({ role }) => role === "tool").length;
  if (results === 0) return asks(["I look."], "look", {});
  if (isHelper) return results === 1 ? asks(["I dig ", "here."], "dig", {}) : "It was a shuttle.";
  const task = { agentType: "helper", task: "Dig." };
  return results === 1 ? asks(["I ask ", "a helper."], "subagent", task) : "The helper is back.";
});

const look = createTool({ id: "look", description: "Looks around.", execute: async () => "nothing" });

const dig = createTool({
  id: "dig",
  description: "Digs.",
  idempotent: true,
  execute: async () => {
    if (config.gate === undefined) process.kill(process.pid, "SIGKILL");
    while (!existsSync(config.gate!)) await delay(10);
    return "a shuttle";
  },
});

/** A store that is written to only when something must be durable, so that a kill loses everything else. */
class LazyStore extends LibSQLStore {
  override get flushMs(): number {
    return config.gate === undefined ? 60_000 : super.flushMs;
  }
}

const controller = new AgentController({
  id: "loom",
  agent: new Agent({ name: "weaver", instructions: "Weave.", model, tools: { look } }) as unknown as Agent,
  modes: [{ id: "build" }],
  permissionRules: { tools: { look: "allow", dig: "allow", subagent: "allow" } },
  subagents: [
    {
      id: "helper",
      name: "Helper",
      description: "Helps.",
      instructions: "You are the helper.",
      tools: { look, dig },
    },
  ],
  threads: { lease: { leaseMs: 500, renewMs: 100 } },
});
const storage = new LazyStore({ url: `file:${config.file}` });
const mastra = new Mastra({ agentControllers: { loom: controller }, storage });
const server = await serve({ mastra, port: 0 });
process.on("disconnect", () => process.exit());
process.send?.({ port: server.port });
