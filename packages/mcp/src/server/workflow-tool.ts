import { AgentError } from "@selvedge/core";
import { createTool, type JsonSchema, type Tool } from "@selvedge/core/tools";
import { requireDescription } from "./require-description.ts";
import type { WorkflowLike } from "./server-config.ts";

interface WorkflowRun {
  start(options: { inputData: unknown }): Promise<unknown>;
}

/** Exposes a workflow as a tool with the workflow's input and result. */
export function workflowTool(key: string, workflow: WorkflowLike): Tool {
  const description = requireDescription("Workflow", key, workflow.description);
  const inputSchema = (workflow.inputSchema ?? { type: "object" }) as JsonSchema;
  return createTool({
    id: `run_${key}`,
    description: `Run workflow '${key}'. Workflow description: ${description}`,
    inputSchema,
    execute: async ({ context }) => {
      const run = (await (workflow.createRun ?? workflow.createRunAsync)?.call(workflow)) as
        | WorkflowRun
        | undefined;
      if (!run)
        throw new AgentError(
          "invalid-argument",
          `Workflow "${key}" has no createRun() and cannot be run over MCP.`,
        );
      return run.start({ inputData: context });
    },
  });
}
