import type { Agent } from "@selvedge/core/agent";
import { AgentController, type ToolCategory } from "@selvedge/core/agent-controller";
import { createDemoAgent, type DemoAgentOptions } from "./demo-agent.ts";
import { demoModel } from "./demo-model.ts";
import { currentTime, wait } from "./demo-tools.ts";

/** The models that answer without a key, by their ids. */
const DEMO_MODELS: Readonly<Record<string, { wordDelayMs: number }>> = {
  "selvedge/demo": { wordDelayMs: 20 },
  "selvedge/demo-fast": { wordDelayMs: 0 },
};

const CATEGORIES: Readonly<Record<string, ToolCategory>> = {
  "current-time": "read",
  calculator: "read",
  wait: "read",
  "notification-inbox": "read",
  "write-note": "edit",
};

/** The demo agent in two modes: `plan` cannot change anything, and an approved plan continues in `build`. */
export async function demoController(
  options: DemoAgentOptions,
): Promise<{ controller: AgentController; agent: Agent }> {
  const { choice, storage } = options;
  const { agent, workspace } = await createDemoAgent(options);
  const defaultModelId = choice.scripted ? "selvedge/demo" : choice.name;
  const controller = new AgentController({
    id: "demo",
    storage,
    agent,
    workspace,
    modes: [
      {
        id: "build",
        name: "Build",
        description: "Does the work. Asks before it changes anything.",
        defaultModelId,
        metadata: { default: true },
      },
      {
        id: "plan",
        name: "Plan",
        description: "Asks and plans, and changes nothing.",
        instructions:
          "You are in plan mode. Find out what is wanted (ask_user), then submit a plan (submit_plan). Change nothing.",
        defaultModelId,
        transitionsTo: "build",
        availableTools: [
          ...Object.keys(CATEGORIES).filter((name) => CATEGORIES[name] === "read"),
          "ask_user",
          "submit_plan",
          "subagent",
          "task_write",
          "task_update",
          "task_complete",
          "task_check",
        ],
      },
    ],
    subagents: [
      {
        id: "scout",
        name: "Scout",
        description: "Finds out about a place.",
        instructions: "You are a scout. Find out what you are asked, and answer in one sentence.",
        tools: { [wait.id]: wait, [currentTime.id]: currentTime },
      },
    ],
    toolCategoryResolver: (toolName) => CATEGORIES[toolName] ?? null,
    permissionRules: { categories: { read: "allow" } },
    resolveModel: (modelId) => {
      const demo = DEMO_MODELS[modelId];
      return demo ? demoModel(demo) : modelId;
    },
    customModelCatalogProvider: () =>
      Object.keys(DEMO_MODELS).map((id) => {
        const [provider = "", modelName = ""] = id.split("/");
        return { id, provider, modelName, hasApiKey: true };
      }),
  });
  return { controller, agent };
}
