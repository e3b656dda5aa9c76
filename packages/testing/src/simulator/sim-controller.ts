import { Agent } from "@selvedge/core/agent";
import { AgentController, type AgentControllerRequestContext } from "@selvedge/core/agent-controller";
import type { Logger } from "@selvedge/core";
import { createTool, type ToolsInput } from "@selvedge/core/tools";
import type { Ledger } from "./ledger.ts";
import { CATEGORY } from "./permission-oracle.ts";
import type { Random } from "./random.ts";
import type { SimMemory } from "./sim-memory.ts";
import { type NextCall, simModel } from "./sim-model.ts";
import type { SimProcess } from "./sim-process.ts";
import type { SimSessions } from "./sim-sessions.ts";

export const CONTROLLER = "loom";
/** The mode after an approved plan. */
export const AFTER_PLAN: Readonly<Record<string, string>> = { plan: "build", build: "plan" };
export const MODELS = ["m1", "m2"] as const;

/** The controller of a simulated process: two modes, tools that need permission, a subagent that can be a fork. */
export function simController(
  process: SimProcess,
  options: { ledger: Ledger; memory: SimMemory; sessions: SimSessions; logger: Logger },
): AgentController {
  const { ledger, memory, sessions, logger } = options;
  const model = simModel(process, nextCall(process.world.random, sessions));
  const tools = sessionTools(process, ledger, sessions);
  return new AgentController({
    id: CONTROLLER,
    agent: new Agent({ name: "weaver", instructions: "Weave.", model, tools }) as unknown as Agent,
    storage: memory.storage,
    memory,
    modes: [
      { id: "plan", metadata: { default: true }, transitionsTo: "build", instructions: "Plan." },
      { id: "build", instructions: "Build." },
    ],
    subagents: [
      {
        id: "helper",
        name: "Helper",
        description: "Helps.",
        instructions: "Help.",
        tools,
        allowedAgentControllerTools: ["ask_user"],
      },
    ],
    resolveModel: () => model,
    toolCategoryResolver: (name) => CATEGORY[name] ?? null,
    logger,
    system: process,
  });
}

function sessionTools(process: SimProcess, ledger: Ledger, sessions: SimSessions): ToolsInput {
  const { random } = process.world;
  const make = (id: "write" | "idempotent") =>
    createTool({
      id,
      description: "Needs permission.",
      idempotent: id === "idempotent",
      async execute({ context }, { toolCallId, requestContext }) {
        const about = requestContext.get("controller") as AgentControllerRequestContext;
        process.world.note(() => `${process.name} runs tool ${id} ${toolCallId} ${JSON.stringify(context)}`);
        sessions.checkRun(id, toolCallId, context, about.session?.id);
        ledger.effect(id, toolCallId, false);
        process.toolsAtWork++;
        const ms = random.chance(0.1) ? random.between(500, 20_000) : random.between(0, 15);
        await process.work("tool works", ms);
        process.toolsAtWork--;
        return { did: toolCallId };
      },
    });
  return { write: make("write"), idempotent: make("idempotent") };
}

/** What the model of a session calls: mostly what it was offered. */
function nextCall(random: Random, sessions: SimSessions): NextCall {
  return (offered, toolCallId) => {
    sessions.emitted(toolCallId);
    const wanted = random.weighted([
      [30, "write"],
      [10, "idempotent"],
      [12, "ask_user"],
      [12, "submit_plan"],
      [8, "task_write"],
      [14, "subagent"],
      [2, "missing"],
    ]);
    const toolName = offered.includes(wanted) || random.chance(0.1) ? wanted : "write";
    return { toolName, input: inputOf(random, toolName, toolCallId) };
  };
}

function inputOf(random: Random, toolName: string, id: string): object {
  switch (toolName) {
    case "ask_user":
      return { question: `What about ${id}?` };
    case "submit_plan":
      return { plan: `Do ${id}.` };
    case "task_write":
      return { tasks: [{ content: `Do ${id}`, status: "pending", activeForm: `Doing ${id}` }] };
    case "subagent":
      return { agentType: "helper", task: `Help with ${id}`, forked: random.chance(0.4) };
    default:
      return { path: random.chance(0.2) ? `bad/${id}` : `good/${id}` };
  }
}
