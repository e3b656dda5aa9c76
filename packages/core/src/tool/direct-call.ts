import { TOOL_CALL_NAMES, toolArgument } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import { checkInput, checkOutput, type ToolInputError } from "./check-payload.ts";
import type {
  ElicitationPort,
  ToolCall,
  ToolCallOrigin,
  ToolDefinition,
  ToolExecutionOptions,
  ToolWriter,
} from "./tool.ts";

/** `tool.execute` for callers outside a run. */
export function directCall(definition: ToolDefinition<any, any>): ToolCall<unknown, unknown> {
  const { id, inputSchema, outputSchema } = definition;
  // On the first call, so that an unusable schema is that call's error.
  let compiledInput: CompiledSchema | undefined;
  let compiledOutput: CompiledSchema | undefined;
  return async (call, options = {}) => {
    if (inputSchema) compiledInput ??= compileSchema(inputSchema);
    let refused: ToolInputError | undefined;
    let thrown: { error: unknown } | undefined;
    for (const { input, origin } of readings(call, compiledInput)) {
      const check = async () => checkInput(id, compiledInput, input);
      const checked = await check().catch((error: unknown) => {
        thrown ??= { error };
        return undefined;
      });
      if (!checked?.ok) {
        refused ??= checked?.error;
        continue;
      }
      const from = mergeOrigin(origin, options);
      const output = await definition.execute!(
        toolArgument(checked.value, from) as never,
        detachedOptions(options, from),
      );
      return outputSchema
        ? checkOutput(id, (compiledOutput ??= compileSchema(outputSchema)), output)
        : output;
    }
    if (thrown && !refused) throw thrown.error;
    return refused;
  };
}

interface Reading {
  input: unknown;
  origin: Partial<ToolCallOrigin>;
}

/**
 * The possible readings of a call, likelier first: `{ context: input, … }` or the input itself. They are ambiguous only
 * if the schema declares a field with a reserved name.
 */
function readings(call: unknown, schema: CompiledSchema | undefined): Reading[] {
  if (call === undefined) return [{ input: {}, origin: {} }];
  const itself = { input: call, origin: {} };
  if (typeof call !== "object" || call === null || Array.isArray(call)) return [itself];
  const names = Object.keys(call);
  const onlyReserved = names.every((name) => (TOOL_CALL_NAMES as readonly string[]).includes(name));
  if (!("context" in call))
    return onlyReserved && !declares(schema, names)
      ? [{ input: {}, origin: call as Partial<ToolCallOrigin> }]
      : [itself];
  const wrapped: Reading = { input: call.context ?? {}, origin: call as Partial<ToolCallOrigin> };
  const unlikely = onlyReserved && typeof call.context === "object";
  return unlikely || !declares(schema, ["context"]) ? [wrapped] : [wrapped, itself];
}

function declares(schema: CompiledSchema | undefined, names: readonly string[]): boolean {
  try {
    const properties = schema?.jsonSchema["properties"] ?? {};
    return names.some((name) => Object.hasOwn(properties, name));
  } catch {
    // A schema without a JSON Schema form.
    return false;
  }
}

/** In the first argument in the documented form, in the second in today's form. */
function mergeOrigin(first: Partial<ToolCallOrigin>, second: Partial<ToolCallOrigin>): ToolCallOrigin {
  const requestContext =
    first.requestContext ??
    first.runtimeContext ??
    second.requestContext ??
    second.runtimeContext ??
    new RequestContext();
  return {
    requestContext,
    runtimeContext: requestContext,
    mastra: first.mastra ?? second.mastra,
    runId: first.runId ?? second.runId,
    threadId: first.threadId ?? second.threadId,
    resourceId: first.resourceId ?? second.resourceId,
  };
}

/** Execution options for a call outside a run. */
function detachedOptions(
  options: Partial<ToolExecutionOptions>,
  origin: ToolCallOrigin,
): ToolExecutionOptions {
  const toolCallId = options.toolCallId ?? "";
  const { elicitation = NO_ELICITATION, extra } = options;
  let signal: AbortSignal | undefined;
  return {
    // Created on access: a signal costs more than the rest of the call.
    get abortSignal() {
      return (signal ??= new AbortController().signal);
    },
    toolCallId,
    messages: [],
    writer: SILENT_WRITER,
    writableStream: SILENT_WRITER,
    idempotencyKey: toolCallId,
    saveProgress: async () => {},
    elicitation,
    suspend: () =>
      Promise.reject(
        new AgentError("not-supported", "suspend() needs a run: this tool was called directly."),
      ),
    ...(extra && { mcp: { elicitation, extra } }),
    ...options,
    ...origin,
  };
}

const SILENT_WRITER: ToolWriter = { write: async () => {}, custom: async () => {} };

export const NO_ELICITATION: ElicitationPort = {
  sendRequest: () =>
    Promise.reject(
      new AgentError("not-supported", "elicitation needs an MCP client: this call did not come from one."),
    ),
};
