import {
  AgentError,
  type AgentChunk,
  ignoreChunk,
  isMemoryChunk,
  type ToolArgument,
  toolArgument,
  type ToolCallPayload,
} from "@selvedge/protocol";
import type { ClientTool } from "@selvedge/protocol/routes";

type JsonSchema = { readonly [keyword: string]: unknown };

/** The part of a Standard Schema with JSON Schema output that we use (zod 4, arktype, valibot with its converter). */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly vendor: string;
    validate(value: unknown): StandardResult<Output> | Promise<StandardResult<Output>>;
    readonly types?: { readonly output: Output } | undefined;
    readonly jsonSchema?: unknown;
  };
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly { readonly message: string }[] };

/** The fields of `execute`'s first argument, besides those of the input. */
export interface ClientToolCall<Input> {
  context: Input;
  runId?: string;
  threadId?: string;
  resourceId?: string;
}

/** The second argument of `execute`. */
interface ClientToolOptions extends Omit<ClientToolCall<unknown>, "context"> {
  toolCallId: string;
  abortSignal: AbortSignal;
}

/** A tool that runs where this client runs. Without `execute`, its calls are left to you. */
export interface LocalTool<Input = never> {
  id?: string;
  description?: string;
  inputSchema?: StandardSchema<Input> | JsonSchema;
  outputSchema?: StandardSchema | JsonSchema;
  /** `({ colour }, context)` and `({ context: { colour } }, options)` both work. */
  execute?(input: ToolArgument<Input, ClientToolCall<Input>>, context: ClientToolOptions): unknown;
}

export type LocalTools = Readonly<Record<string, LocalTool>>;

/** Types `execute` by the schema. */
export function createTool<Input = Record<string, unknown>>(
  tool: LocalTool<Input> & { id: string; description: string },
): LocalTool {
  return tool as unknown as LocalTool;
}

/** What the server needs to know about the tools: what the model sees. */
function describeTools(tools: LocalTools): Record<string, ClientTool> {
  return Object.fromEntries(
    Object.entries(tools).map(([name, { id, description, inputSchema, outputSchema }]) => [
      name,
      {
        ...(id !== undefined && { id }),
        ...(description !== undefined && { description }),
        ...(inputSchema && { inputSchema: toJsonSchema(name, inputSchema) }),
        ...(outputSchema && { outputSchema: toJsonSchema(name, outputSchema) }),
      },
    ]),
  );
}

/** Run options with tools in the server's form. */
export function describeOptions<Options extends object>(
  options: Options & { clientTools?: LocalTools | undefined },
): Omit<Options, "clientTools"> & { clientTools?: Record<string, ClientTool> } {
  const { clientTools, ...rest } = options;
  return clientTools ? { ...rest, clientTools: describeTools(clientTools) } : rest;
}

/** Watches the chunks of runs for calls that are left to the client. Keeps the open calls of one run. */
export class OpenCalls {
  #runId = "";
  readonly #open = new Map<string, ToolCallPayload>();

  /** The calls to execute, if this chunk ends a run that waits for them. */
  take(chunk: AgentChunk): ToolCallPayload[] {
    if (isMemoryChunk(chunk)) return [];
    if (chunk.runId !== this.#runId) {
      this.#runId = chunk.runId;
      this.#open.clear();
    }
    switch (chunk.type) {
      case "tool-call":
        if (!chunk.payload.providerExecuted) this.#open.set(chunk.payload.toolCallId, chunk.payload);
        break;
      case "tool-result":
      case "tool-error":
      case "tool-output-denied":
        this.#open.delete(chunk.payload.toolCallId);
        break;
      case "finish": {
        if (chunk.payload.stepResult.reason !== "tool-calls") break;
        const calls = [...this.#open.values()];
        this.#open.clear();
        return calls;
      }
      default:
        ignoreChunk<"run" | "step" | "content" | "input" | "question" | "progress" | "other" | "data">(chunk);
    }
    return [];
  }
}

/** The calls, if there are any and each has a tool here: a run continues when all its calls have results. */
export function localCalls(calls: ToolCallPayload[], tools: LocalTools): ToolCallPayload[] | undefined {
  const isLocal = ({ toolName }: ToolCallPayload) =>
    Object.hasOwn(tools, toolName) && tools[toolName]?.execute !== undefined;
  return calls.length > 0 && calls.every(isLocal) ? calls : undefined;
}

/** Results in the form of a message. */
export interface ToolResultMessage {
  role: "tool";
  content: { type: "tool-result"; toolCallId: string; toolName: string; args: unknown; output: unknown }[];
}

/** Runs tools in parallel. An error is a result that the model sees. */
export async function runTools(
  calls: readonly ToolCallPayload[],
  tools: LocalTools,
  where: Omit<ClientToolCall<never>, "context">,
  abortSignal: AbortSignal,
): Promise<ToolResultMessage> {
  const content = await Promise.all(
    calls.map(async ({ toolCallId, toolName, args }) => {
      const output = await runTool(tools[toolName] as LocalTool, args, { ...where, toolCallId, abortSignal });
      return { type: "tool-result" as const, toolCallId, toolName, args, output };
    }),
  );
  return { role: "tool", content };
}

async function runTool(
  tool: LocalTool,
  args: unknown,
  options: ClientToolOptions,
): Promise<{ type: "json" | "error-text"; value: unknown }> {
  try {
    let input = args;
    if (isStandard(tool.inputSchema)) {
      const checked = await tool.inputSchema["~standard"].validate(args);
      if (checked.issues)
        return failed(`The input is not valid: ${checked.issues.map(({ message }) => message).join("; ")}`);
      input = checked.value;
    }
    const result = await tool.execute?.(toolArgument(input, options) as never, options);
    // Serialised now, not when all results are sent: one that is not JSON must not affect the others.
    const text = JSON.stringify(result) as string | undefined;
    return { type: "json", value: text === undefined ? null : JSON.parse(text) };
  } catch (error) {
    return failed(error instanceof Error ? error.message : String(error));
  }
}

function failed(message: string): { type: "error-text"; value: string } {
  return { type: "error-text", value: message };
}

function isStandard(schema: unknown): schema is StandardSchema {
  return (
    (typeof schema === "object" || typeof schema === "function") && schema !== null && "~standard" in schema
  );
}

function toJsonSchema(name: string, schema: StandardSchema | JsonSchema): Record<string, unknown> {
  if (!isStandard(schema)) return schema;
  const converter = schema["~standard"].jsonSchema as
    | { input(options: { target: string }): Record<string, unknown> }
    | undefined;
  if (!converter)
    throw new AgentError(
      "invalid-schema",
      `The ${schema["~standard"].vendor} schema of tool "${name}" cannot be converted to JSON Schema. Use a version that implements Standard JSON Schema (zod 4.2 or later), or pass a plain JSON Schema.`,
    );
  return converter.input({ target: "draft-07" });
}
