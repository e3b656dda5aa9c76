import { AgentError, RequestContext, type System } from "@selvedge/core";
import type { Quota } from "@selvedge/core/guards";
import {
  compileSchema,
  limitResult,
  type ToolExecutionOptions,
  type ToolInputError,
} from "@selvedge/core/tools";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { enterCall } from "./enter-call.ts";
import type { CallLimits } from "./server-config.ts";
import type { ServedTool } from "./served-tool.ts";
import { ToolClock } from "./tool-clock.ts";

const MAX_SHOWN = 4000;
const shorten = (text: string): string =>
  text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN).toWellFormed()}… (${text.length} characters)`;

/** Thrown when arguments are invalid: the message lists every issue and the arguments. */
function inputProblem(args: unknown, error: ToolInputError): AgentError {
  return new AgentError(
    "tool-input-invalid",
    `${error.message}\n\nProvided arguments: ${shorten(JSON.stringify(args))}`,
  );
}

/** Limits for calls, and the calls in progress. */
export interface CallGuard {
  limits: CallLimits;
  running: Quota;
  system: System;
}

/**
 * Validates the input, then runs a served tool. Every MCP call goes through here. A tool that needs approval does not
 * run, because no one who could approve it is present. Time, result size and number of calls are limited.
 */
export async function callTool(
  served: ServedTool,
  args: unknown,
  options: Partial<ToolExecutionOptions>,
  { limits, running, system }: CallGuard,
): Promise<unknown> {
  const { tool, wire } = served;
  const requestContext = new RequestContext();
  const end = enterCall(running, options.extra?.["authInfo"] as AuthInfo | undefined);
  try {
    const ms = tool.definition.timeoutMs ?? limits.toolTimeoutMs;
    const clock = new ToolClock(`Tool "${wire.name}"`, ms, system);
    const output: unknown = await clock.run(options.abortSignal, async (abortSignal) => {
      if (await needsApproval(tool.definition, args, requestContext))
        throw new AgentError(
          "not-supported",
          `Tool "${wire.name}" needs a person's approval, which cannot be given over MCP. Run it through an agent.`,
        );
      // Its time is up, so it must not start.
      abortSignal.throwIfAborted();
      return tool.execute({ context: args, requestContext }, { ...asking(options, clock), abortSignal });
    });
    if (isInputError(output)) throw inputProblem(args, output);
    return limited(served, output, limits.toolResultBytes);
  } finally {
    end();
  }
}

/** The same options, with a clock that pauses while the client is asked. */
function asking(options: Partial<ToolExecutionOptions>, clock: ToolClock): Partial<ToolExecutionOptions> {
  const { elicitation, extra } = options;
  const sendRequest = extra?.["sendRequest"] as ((...given: unknown[]) => Promise<unknown>) | undefined;
  return {
    ...options,
    ...(elicitation && {
      elicitation: {
        sendRequest: (request) => clock.standStill(() => elicitation.sendRequest(request)),
      },
    }),
    ...(sendRequest && {
      extra: {
        ...extra,
        sendRequest: (...given: unknown[]) => clock.standStill(() => sendRequest(...given)),
      },
    }),
  };
}

/** A result with a declared shape cannot be truncated, so one over the limit is refused. */
function limited({ wire }: ServedTool, output: unknown, maxBytes: number): unknown {
  const result = limitResult(output, maxBytes, wire.name);
  if (!wire.outputSchema || result === output) return result;
  throw new AgentError("limit-exceeded", (result as { message: string }).message);
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
    // Invalid arguments never reach the tool.
    if (!checked.ok) return false;
    const asks = await requireApproval(checked.value, { requestContext });
    return typeof asks === "object" ? asks.decision !== "allow" : Boolean(asks);
  } catch {
    return true;
  }
}

function isInputError(output: unknown): output is ToolInputError {
  const { error, validationErrors } = (output ?? {}) as Partial<ToolInputError>;
  return error === true && Array.isArray(validationErrors);
}
