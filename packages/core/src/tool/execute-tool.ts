import { type StoredMessage, type ToolCallPayload, toolArgument } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { RunLimits, AgentExecutionOptions } from "../run/run-options.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import type { System } from "../system.ts";
import { checkInput, checkOutput, inputError } from "./check-payload.ts";
import { limitError } from "./limit-error.ts";
import { NO_ELICITATION } from "./direct-call.ts";
import { limitResult } from "./limit-result.ts";
import { notify } from "./notify.ts";
import type { ToolCallOrigin, ToolExecutionOptions, ToolWriter } from "./tool.ts";
import type { PreparedTool, ToolSet } from "./tool-set.ts";

/** What became of a tool call. Every call ends as one of these; nothing is thrown. */
export type ToolOutcome =
  | { kind: "result"; result: unknown; modelOutput?: unknown; isError?: boolean }
  | { kind: "error"; error: unknown }
  /** The caller has to execute it. */
  | { kind: "client" }
  | { kind: "approval" }
  /** A person said no. */
  | { kind: "denied"; reason: string }
  | { kind: "suspended"; payload: unknown };

/** A call whose arguments were read: ready to run, or settled before it started. */
export type CheckedCall =
  | { call: ToolCallPayload; settled: ToolOutcome }
  | { call: ToolCallPayload; tool: PreparedTool; input: unknown; settled?: undefined };

export interface ToolRunContext {
  /** `undefined` when no agent asked for the call. */
  agentId: string | undefined;
  tools: ToolSet;
  activeTools: readonly string[] | undefined;
  requireApproval: AgentExecutionOptions["requireToolApproval"];
  requestContext: RequestContext;
  mastra: unknown;
  threadId: string | undefined;
  resourceId: string | undefined;
  runId: string;
  messages: () => StoredMessage[];
  abortSignal: AbortSignal;
  limits: RunLimits;
  system: System;
  writer(call: ToolCallPayload): ToolWriter;
  /** Calls that somebody answered, with what they said: these need no approval any more. */
  answered: ReadonlyMap<string, { resumeData?: unknown }>;
}

/** Reads a call: is there such a tool, does its input fit, may it run without being asked for. */
export async function checkCall(call: ToolCallPayload, context: ToolRunContext): Promise<CheckedCall> {
  const tool = context.tools.get(call.toolName);
  if (!tool || (context.activeTools && !context.activeTools.includes(call.toolName))) {
    return { call, settled: { kind: "error", error: unknownTool(call.toolName, context) } };
  }
  let input: Awaited<ReturnType<typeof readInput>>;
  try {
    input = await readInput(tool, call);
  } catch (error) {
    // The tool's own code failed, with words that may be for nobody outside.
    return { call, settled: { kind: "error", error: limitError(error, context.limits.toolErrorBytes) } };
  }
  if (!input.ok) return { call, settled: { kind: "result", result: input.error, isError: true } };
  notify(tool.definition.onInputAvailable?.bind(tool.definition), {
    toolCallId: call.toolCallId,
    input: input.value,
  });
  if (!context.answered.has(call.toolCallId) && (await needsApproval(tool, input.value, context)))
    return { call, settled: { kind: "approval" } };
  if (!tool.definition.execute) return { call, settled: { kind: "client" } };
  return { call, tool, input: input.value };
}

/** Runs a checked call. The only place in the system where an agent's tool is executed. */
export async function executeTool(
  checked: Extract<CheckedCall, { tool: PreparedTool }>,
  context: ToolRunContext,
): Promise<ToolOutcome> {
  const { call, tool, input } = checked;
  const { definition } = tool;
  const resumeData = context.answered.get(call.toolCallId)?.resumeData;
  const unfit = await checkResumeData(definition.resumeSchema, resumeData, tool.name);
  if (unfit) return { kind: "error", error: unfit };
  const controller = new AbortController();
  let suspended: { payload: unknown } | undefined;
  let cancelTimer: (() => void) | undefined;
  let onAbort: (() => void) | undefined;
  const timeoutMs = definition.timeoutMs ?? context.limits.toolTimeoutMs;
  const writer = context.writer(call);
  const interrupted = new Promise<never>((_, reject) => {
    onAbort = () => {
      controller.abort(context.abortSignal.reason);
      reject(new AgentError("tool-aborted", `The run was aborted while tool "${tool.name}" was working.`));
    };
    if (context.abortSignal.aborted) return onAbort();
    context.abortSignal.addEventListener("abort", onAbort, { once: true });
    if (timeoutMs > 0) {
      cancelTimer = context.system.setTimer(timeoutMs, () => {
        const error = new AgentError(
          "tool-timeout",
          `Tool "${tool.name}" did not answer within ${timeoutMs} ms (limits.toolTimeoutMs).`,
        );
        controller.abort(error);
        reject(error);
      });
    }
  });
  interrupted.catch(() => {});
  try {
    const origin: ToolCallOrigin = {
      requestContext: context.requestContext,
      runtimeContext: context.requestContext,
      mastra: context.mastra,
      runId: context.runId,
      threadId: context.threadId,
      resourceId: context.resourceId,
    };
    const run = {
      toolCallId: call.toolCallId,
      messages: context.messages(),
      writableStream: writer,
      ...(resumeData !== undefined && { resumeData }),
      suspend: async (payload?: unknown) => {
        suspended = { payload };
      },
    };
    const options: ToolExecutionOptions = {
      ...origin,
      ...run,
      abortSignal: controller.signal,
      writer,
      idempotencyKey: `${context.runId}:${call.toolCallId}`,
      elicitation: NO_ELICITATION,
      ...(context.agentId !== undefined && {
        agent: {
          agentId: context.agentId,
          threadId: context.threadId,
          resourceId: context.resourceId,
          ...run,
        },
      }),
    };
    const work = start(() => definition.execute!(toolArgument(input, origin) as never, options)).then(
      (output): ToolOutcome | Promise<ToolOutcome> => {
        if (suspended)
          return {
            kind: "suspended",
            payload: limitResult(suspended.payload, context.limits.toolResultBytes, tool.name),
          };
        return settle(tool, output, context.limits.toolResultBytes, call, input);
      },
    );
    // A tool that loses the race may still reject later; that is nobody's error any more.
    work.catch(() => {});
    return await Promise.race([work, interrupted]);
  } catch (error) {
    return { kind: "error", error: limitError(error, context.limits.toolErrorBytes) };
  } finally {
    cancelTimer?.();
    if (onAbort) context.abortSignal.removeEventListener("abort", onAbort);
  }
}

/** What the tool throws at once counts like what it throws later. */
async function start(execute: () => unknown): Promise<unknown> {
  return execute();
}

async function settle(
  tool: PreparedTool,
  output: unknown,
  maxBytes: number,
  call: ToolCallPayload,
  input: unknown,
): Promise<ToolOutcome> {
  const result = await checkOutput(tool.name, tool.output, output);
  const limited = limitResult(result, maxBytes, tool.name);
  const { toModelOutput, onOutput } = tool.definition;
  const modelOutput = toModelOutput
    ? limitResult(
        await toModelOutput.call(tool.definition, result as never, { toolCallId: call.toolCallId, input }),
        maxBytes,
        tool.name,
      )
    : undefined;
  notify(onOutput?.bind(tool.definition), {
    toolCallId: call.toolCallId,
    toolName: tool.name,
    output: result,
  });
  return { kind: "result", result: limited, ...(modelOutput !== undefined && { modelOutput }) };
}

function readInput(tool: PreparedTool, call: ToolCallPayload): ReturnType<typeof checkInput> {
  const { args } = call;
  const isObject = typeof args === "object" && !Array.isArray(args);
  // A schema may accept a list or a number. Text is what could not be parsed.
  if (isObject || (tool.input && typeof args !== "string")) return checkInput(tool.name, tool.input, args);
  const message = `The input of tool "${tool.name}" is not a JSON object. Please call it again with one.`;
  return Promise.resolve({ ok: false, error: inputError(message) });
}

async function needsApproval(tool: PreparedTool, input: unknown, context: ToolRunContext): Promise<boolean> {
  // A question that cannot be answered is answered with yes: ask the person.
  try {
    const own = tool.definition.requireApproval;
    if (
      typeof own === "function" ? await own(input as never, { requestContext: context.requestContext }) : own
    )
      return true;
    const asked = context.requireApproval;
    if (typeof asked !== "function") return asked === true;
    return Boolean(await asked({ toolName: tool.name, args: input, requestContext: context.requestContext }));
  } catch {
    return true;
  }
}

async function checkResumeData(
  schema: Schema | undefined,
  data: unknown,
  name: string,
): Promise<AgentError | undefined> {
  if (!schema || data === undefined) return undefined;
  const checked = await compileSchema(schema).validate(data);
  if (checked.ok) return undefined;
  const list = checked.issues
    .map((issue) => `${issue.path.join(".") || "resumeData"}: ${issue.message}`)
    .join("; ");
  return new AgentError(
    "tool-input-invalid",
    `The answer to tool "${name}" does not fit its resumeSchema: ${list}`,
  );
}

function unknownTool(name: string, context: ToolRunContext): AgentError {
  const available = [...context.tools.keys()].filter(
    (key) => !context.activeTools || context.activeTools.includes(key),
  );
  const list =
    available.length > 0
      ? `Available tools: ${available.slice(0, 50).join(", ")}.`
      : "No tools are available.";
  return new AgentError("tool-not-found", `There is no tool "${name}". ${list}`);
}
