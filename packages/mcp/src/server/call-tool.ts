import { AgentError, RequestContext } from "@selvedge/core";
import { compileSchema, type ToolExecutionOptions, type ToolInputError } from "@selvedge/core/tools";
import type { ServedTool } from "./served-tool.ts";

const MAX_SHOWN = 4000;
const shorten = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}… (${text.length} characters)`;

/** Thrown when the given arguments do not fit: the text lists every issue and the arguments. */
function inputProblem(args: unknown, error: ToolInputError): AgentError {
  return new AgentError(
    "tool-input-invalid",
    `${error.message}\n\nProvided arguments: ${shorten(JSON.stringify(args))}`,
  );
}

/**
 * Validates, then runs a served tool: the one way by which MCP reaches a tool. A tool that a person has to approve does
 * not run, because nobody who may approve it is there.
 */
export async function callTool(
  { tool, wire }: ServedTool,
  args: unknown,
  options: Partial<ToolExecutionOptions>,
): Promise<unknown> {
  const requestContext = new RequestContext();
  if (await needsApproval(tool.definition, args, requestContext)) {
    throw new AgentError(
      "not-supported",
      `Tool "${wire.name}" needs a person's approval, which cannot be given over MCP. Run it through an agent.`,
    );
  }
  const output: unknown = await tool.execute({ context: args, requestContext }, options);
  if (isInputError(output)) throw inputProblem(args, output);
  return output;
}

async function needsApproval(
  { requireApproval, inputSchema }: ServedTool["tool"]["definition"],
  args: unknown,
  requestContext: RequestContext,
): Promise<boolean> {
  if (typeof requireApproval !== "function") return requireApproval === true;
  try {
    const checked = inputSchema
      ? await compileSchema(inputSchema).validate(args)
      : { ok: true as const, value: args };
    // Arguments that do not fit never run.
    return checked.ok && Boolean(await requireApproval(checked.value, { requestContext }));
  } catch {
    return true;
  }
}

function isInputError(output: unknown): output is ToolInputError {
  const { error, validationErrors } = (output ?? {}) as Partial<ToolInputError>;
  return error === true && Array.isArray(validationErrors);
}
