import type { LanguageModelV4FunctionTool, LanguageModelV4ProviderTool } from "@ai-sdk/provider";
import { AgentError, showValue } from "../errors.ts";
import { type CompiledSchema, compileSchema } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { fromAiTool } from "./from-ai-tool.ts";
import { Tool, type ToolDefinition, type ToolLike, type ToolsInput } from "./tool.ts";

type AnyDefinition = ToolDefinition<any, any>;

/** A tool under the name the model sees, with compiled schemas. */
export interface PreparedTool {
  readonly name: string;
  readonly definition: AnyDefinition;
  readonly input: CompiledSchema | undefined;
  readonly output: CompiledSchema | undefined;
  readonly declaration: LanguageModelV4FunctionTool | LanguageModelV4ProviderTool;
}

/**
 * The tools of a run, by name. A Map, so that a tool called `constructor` or `__proto__` is just a name.
 */
export type ToolSet = ReadonlyMap<string, PreparedTool>;

/** Compiles each tool object once. Belongs to an agent. */
export class ToolCompiler {
  readonly #compiled = new WeakMap<object, Map<string, PreparedTool>>();
  readonly #told = new Set<string>();

  /** Messages about toolsets whose tools hide others; each name once. */
  hidden(toolsets: Record<string, ToolsInput>): string[] {
    const owners = new Map<string, { set: string; tool: ToolLike }>();
    const words: string[] = [];
    for (const [set, tools] of Object.entries(toolsets)) {
      for (const [name, tool] of Object.entries(tools ?? {})) {
        const other = owners.get(name);
        owners.set(name, { set, tool });
        if (!other || other.tool === tool || this.#told.has(name) || this.#told.size >= MOST_TOLD) continue;
        this.#told.add(name);
        words.push(`Tool "${name}" of toolset "${other.set}" is hidden by the one in toolset "${set}".`);
      }
    }
    return words;
  }

  /** Later groups override earlier ones. */
  prepare(groups: readonly (ToolsInput | undefined)[]): ToolSet {
    const tools = new Map<string, PreparedTool>();
    for (const group of groups) {
      if (!group) continue;
      if (typeof group !== "object") {
        throw new AgentError(
          "invalid-argument",
          `tools must be an object of tools by name, got ${showValue(group)}.`,
        );
      }
      for (const [name, tool] of Object.entries(group)) tools.set(name, this.#compile(name, tool));
    }
    return tools;
  }

  #compile(name: string, tool: ToolLike): PreparedTool {
    if (typeof tool !== "object" || tool === null) {
      throw new AgentError("invalid-argument", `Tool "${name}" is not a tool: got ${showValue(tool)}.`);
    }
    let byName = this.#compiled.get(tool);
    if (!byName) this.#compiled.set(tool, (byName = new Map()));
    let prepared = byName.get(name);
    if (!prepared) byName.set(name, (prepared = compileTool(name, tool)));
    return prepared;
  }
}

const MOST_TOLD = 1000;
const ANY_OBJECT: Schema = { type: "object", properties: {} };

function compileTool(name: string, tool: ToolLike): PreparedTool {
  const definition = toDefinition(name, tool);
  try {
    const input = definition.inputSchema ? compileSchema(definition.inputSchema) : undefined;
    const output = definition.outputSchema ? compileSchema(definition.outputSchema) : undefined;
    return { name, definition, input, output, declaration: declare(name, tool, definition, input) };
  } catch (cause) {
    if (!AgentError.is(cause, "invalid-schema")) throw cause;
    throw new AgentError("invalid-schema", `Tool "${name}": ${cause.message}`, { cause });
  }
}

function declare(
  name: string,
  tool: ToolLike,
  definition: AnyDefinition,
  input: CompiledSchema | undefined,
): PreparedTool["declaration"] {
  if (isProviderTool(tool))
    return {
      type: "provider",
      id: tool.id as `${string}.${string}`,
      name,
      args: (tool as { args?: Record<string, unknown> }).args ?? {},
    };
  return {
    type: "function",
    name,
    description: definition.description,
    inputSchema: (input?.jsonSchema ?? ANY_OBJECT) as LanguageModelV4FunctionTool["inputSchema"],
  };
}

function isProviderTool(tool: ToolLike): tool is ToolLike & { id: string } {
  const type = (tool as { type?: unknown }).type;
  return (type === "provider" || type === "provider-defined") && typeof tool.id === "string";
}

/** Our own tools unchanged; others converted. */
export function toDefinition(name: string, tool: ToolLike): AnyDefinition {
  if (tool instanceof Tool) return tool.definition;
  const foreign = tool as Exclude<ToolLike, Tool>;
  // Created by another copy of this package.
  if (typeof foreign["definition"] === "object" && foreign["definition"] !== null)
    return foreign["definition"] as AnyDefinition;
  const inputSchema = (foreign.inputSchema ?? foreign.parameters) as Schema | undefined;
  const base: AnyDefinition = {
    ...(foreign as object),
    id: foreign.id ?? name,
    description: typeof foreign.description === "string" ? foreign.description : "",
    ...(inputSchema && { inputSchema }),
  };
  return foreign.id === undefined ? fromAiTool(foreign, base) : base;
}
