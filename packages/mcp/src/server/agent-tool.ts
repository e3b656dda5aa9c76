import type { Agent } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core";
import { safeOutput } from "@selvedge/core/guards";
import { createTool, type JsonSchema, type Tool } from "@selvedge/core/tools";
import { requireDescription } from "./require-description.ts";

const INPUT: JsonSchema = {
  type: "object",
  properties: { message: { type: "string", description: "The question or input for the agent." } },
  required: ["message"],
};

/**
 * Exposes an agent as a tool: one question, one answer. The result is that of `generate()`, without the text of failed
 * tools and without the model requests, which contain the instructions.
 */
export function agentTool(key: string, agent: Agent): Tool {
  const description = requireDescription("Agent", key, agent.description);
  return createTool({
    id: `ask_${key}`,
    description: `Ask agent '${agent.name}' a question. Agent description: ${description}`,
    inputSchema: INPUT,
    execute: async ({ context, requestContext }, { abortSignal }) => {
      const { message } = context as { message: string };
      // Over MCP, no one can approve a tool call.
      const run = await agent.streamAsTool(message, { abortSignal, requestContext });
      const output = await run.getFullOutput();
      if (output.tripwire)
        throw new AgentError("tripwire", `Agent "${agent.name}" was stopped: ${output.tripwire.reason}`);
      const safe = safeOutput(output);
      return { ...safe, request: {}, steps: safe.steps.map((step) => ({ ...step, request: {} })) };
    },
  });
}
