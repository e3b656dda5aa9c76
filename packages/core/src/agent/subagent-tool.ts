import { isHiddenFailure, toolFailed } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import type { JsonSchema } from "../schema/schema.ts";
import { createTool, type Tool } from "../tool/tool.ts";
import type { Agent } from "./agent.ts";

export interface SubagentInput {
  prompt: string;
  /** Continues an earlier conversation with the subagent. */
  threadId?: string;
  instructions?: string;
  maxSteps?: number;
}

export interface SubagentOutput {
  text: string;
  subAgentThreadId?: string;
  subAgentResourceId?: string;
  subAgentToolResults?: { toolName: string; toolCallId: string; result: unknown }[];
}

const INPUT: JsonSchema = {
  type: "object",
  properties: {
    prompt: { type: "string", description: "What the agent should do, with everything it needs to know." },
    threadId: {
      type: "string",
      description: "To continue an earlier conversation: the subAgentThreadId it returned.",
    },
    resourceId: { type: "string", description: "Ignored: the agent works for the same resource as you do." },
    instructions: { type: "string", description: "Instructions in place of the agent's own." },
    maxSteps: { type: "integer", minimum: 1 },
  },
  required: ["prompt"],
};

/**
 * An agent as a tool of another. Its chunks appear on the parent's stream as `tool-output`. With memory, it keeps
 * threads of its own under a resource derived from the parent's, never one that the model named.
 */
export function subagentTool(key: string, agent: Agent<any, any>): Tool<JsonSchema, undefined> {
  return createTool({
    id: `agent-${key}`,
    description: agent.description || `Agent: ${agent.name}`,
    inputSchema: INPUT,
    execute: async ({ context, requestContext, resourceId, runId }, { abortSignal, writer, toolCallId }) => {
      const input = context as SubagentInput;
      const memory =
        agent.hasMemory && resourceId !== undefined
          ? threadOf(key, input, resourceId, `${runId}-${toolCallId}`)
          : undefined;
      const output = await agent.streamAsTool(input.prompt, {
        requestContext: requestContext.without(THREAD_KEYS),
        abortSignal,
        ...(input.instructions !== undefined && { instructions: input.instructions }),
        ...(input.maxSteps !== undefined && { maxSteps: input.maxSteps }),
        ...(memory && { memory }),
      });
      for await (const chunk of output.fullStream) await writer.write(chunk);
      const full = await output.getFullOutput();
      if (full.tripwire)
        throw new AgentError("tripwire", `Agent "${agent.name}" was stopped: ${full.tripwire.reason}`);
      // Those words are for the subagent's model and for the log.
      const hidden = new Set(
        full.steps.flatMap(({ content }) =>
          content.filter(isHiddenFailure).map(({ toolInvocation }) => toolInvocation.toolCallId),
        ),
      );
      const toolResults = full.toolResults.map(({ toolName, toolCallId: id, result }) => ({
        toolName,
        toolCallId: id,
        result: hidden.has(id) ? toolFailed(toolName, id) : result,
      }));
      return {
        text: full.text,
        ...(memory && { subAgentThreadId: memory.thread, subAgentResourceId: memory.resource }),
        ...(toolResults.length > 0 && { subAgentToolResults: toolResults }),
      } satisfies SubagentOutput;
    },
  });
}

/** The parent's thread is not the subagent's. */
const THREAD_KEYS = [THREAD_ID_KEY, RESOURCE_ID_KEY];

function threadOf(
  key: string,
  input: SubagentInput,
  resourceId: string,
  fresh: string,
): { thread: string; resource: string } {
  return { thread: input.threadId ?? fresh, resource: `${resourceId}/agent-${key}` };
}
