import { isObject } from "@selvedge/protocol";
import type { ToolDefinition, ToolExecutionOptions, ToolLike, Tool } from "./tool.ts";

type AnyDefinition = ToolDefinition<any, any>;
type AiTool = Exclude<ToolLike, Tool>;

/**
 * AI SDK 5 passes the output itself to `toModelOutput`, later releases `{ toolCallId, input, output }`. An object can be
 * both.
 */
function outputArgument(output: unknown, call: object | undefined): unknown {
  const later = { ...call, output };
  if (!isObject(output) || Object.keys(later).some((name) => Object.hasOwn(output, name))) return later;
  const hidden = Object.entries(later).map(([name, value]) => [name, { value }] as const);
  return Object.defineProperties({ ...output }, Object.fromEntries(hidden));
}

/** An AI SDK tool: it has no id, is called as `execute(input, options)`, and may yield partial results. */
export function fromAiTool(tool: AiTool, base: AnyDefinition): AnyDefinition {
  const { execute, needsApproval, toModelOutput } = tool;
  const { id: _id, ...own } = base;
  return {
    ...own,
    id: base.id,
    ...(needsApproval !== undefined && {
      requireApproval:
        typeof needsApproval === "function"
          ? (input: unknown) => needsApproval(input, {})
          : Boolean(needsApproval),
    }),
    ...(toModelOutput && {
      toModelOutput: (output: unknown, call?: object) => toModelOutput(outputArgument(output, call)),
    }),
    ...(execute && {
      execute: async ({ context, requestContext }, options) => {
        const { toolCallId, messages, abortSignal } = options;
        const result: unknown = await execute(context, {
          toolCallId,
          messages,
          abortSignal,
          context: requestContext,
          experimental_context: requestContext,
        });
        return isAsyncIterable(result) ? lastOf(result, options) : result;
      },
    }),
  };
}

/** Each partial result is shown as progress; the last one is the result. */
async function lastOf(results: AsyncIterable<unknown>, { writer }: ToolExecutionOptions): Promise<unknown> {
  let last: unknown;
  for await (const result of results) {
    if (last !== undefined) await writer.write(last);
    last = result;
  }
  return last;
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof (value as Partial<AsyncIterable<unknown>> | null)?.[Symbol.asyncIterator] === "function";
}
