import { AgentError, errorMessage } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import type { ToolLimits } from "./tool-limits.ts";
import { realSystem, type System } from "../system.ts";
import { checkCall, executeTool, type ToolOutcome } from "./execute-tool.ts";
import type { ToolInputError } from "./check-payload.ts";
import type { ToolLike } from "./tool.ts";
import { ToolCompiler } from "./tool-set.ts";

export interface CallToolOptions {
  /** The tool's name. */
  name: string;
  input: unknown;
  limits: ToolLimits;
  /** Whether a person approved the call. Without approval, a tool that requires it does not run. */
  approved?: boolean | undefined;
  requestContext?: RequestContext | undefined;
  mastra?: unknown;
  resourceId?: string | undefined;
  abortSignal?: AbortSignal | undefined;
  system?: System | undefined;
}

/** Runs a tool outside a run, with the same checks of input, approval, time, output and size. */
export async function callTool(tool: ToolLike, options: CallToolOptions): Promise<unknown> {
  const { name, system = realSystem } = options;
  const call = { toolCallId: system.newId(), toolName: name, args: options.input ?? {} };
  const silent = { write: async () => {}, custom: async () => {} };
  const context: Parameters<typeof checkCall>[1] = {
    agentId: undefined,
    tools: new ToolCompiler().prepare([{ [name]: tool }]),
    activeTools: undefined,
    requireApproval: undefined,
    requestContext: options.requestContext ?? new RequestContext(),
    mastra: options.mastra,
    threadId: undefined,
    threadState: undefined,
    resourceId: options.resourceId,
    runId: call.toolCallId,
    messages: () => [],
    abortSignal: options.abortSignal ?? new AbortController().signal,
    limits: options.limits,
    timers: system,
    writer: () => silent,
    answered: new Map(options.approved === true ? [[call.toolCallId, {}]] : []),
  };
  const checked = await checkCall(call, context);
  return toResult(name, checked.outcome ?? (await executeTool(checked, context)));
}

function toResult(name: string, outcome: ToolOutcome): unknown {
  switch (outcome.kind) {
    case "result":
      if (outcome.isError) throw invalidInput(outcome.result as ToolInputError);
      return outcome.result;
    case "error":
      if (AgentError.is(outcome.error)) throw outcome.error;
      throw new AgentError("tool-failed", `Tool "${name}" failed: ${errorMessage(outcome.error)}`, {
        cause: outcome.error,
      });
    case "approval":
      throw new AgentError(
        "forbidden",
        `Tool "${name}" requires approval, and this call has not been approved.`,
      );
    case "denied":
      throw new AgentError("forbidden", outcome.reason);
    case "client":
      throw new AgentError("not-supported", `Tool "${name}" is executed by the client.`);
    case "suspended":
      throw new AgentError("not-supported", `Tool "${name}" cannot suspend outside an agent's run.`);
  }
}

/** Lists the issues separately, so that a form can show each at its field. */
function invalidInput({ message, validationErrors }: ToolInputError): AgentError {
  return new AgentError("tool-input-invalid", message, { details: { issues: validationErrors } });
}
