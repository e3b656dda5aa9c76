import { AgentError } from "@selvedge/core";
import { compileSchema, Tool, type ToolDefinition, type ToolLike, toDefinition } from "@selvedge/core/tools";
import type { Tool as WireTool } from "@modelcontextprotocol/server";

type AnyDefinition = ToolDefinition<undefined, undefined>;

/** A tool under its public name, with its description on the wire. */
export interface ServedTool {
  readonly tool: Tool;
  readonly wire: WireTool;
  readonly toolType?: "agent" | "workflow";
}

export function serveTool(name: string, given: ToolLike, toolType?: "agent" | "workflow"): ServedTool {
  const definition = toDefinition(name, given);
  try {
    const { inputSchema, outputSchema, mcp } = definition;
    const wire: WireTool = {
      name,
      ...mcp,
      description: definition.description,
      inputSchema: objectSchema(inputSchema && compileSchema(inputSchema).jsonSchema),
      ...(outputSchema && {
        outputSchema: compileSchema(outputSchema).jsonSchema as WireTool["outputSchema"] & object,
      }),
    };
    const tool = outputSchema
      ? new Tool({ ...definition, execute: unwrapped(definition) })
      : new Tool(definition);
    return { tool, wire, ...(toolType && { toolType }) };
  } catch (cause) {
    if (!AgentError.is(cause, "invalid-schema")) throw cause;
    throw new AgentError("invalid-schema", `Tool "${name}": ${cause.message}`, { cause });
  }
}

/** A tool may return the protocol's own form; its output schema then describes the structured part. */
function unwrapped(definition: AnyDefinition): NonNullable<AnyDefinition["execute"]> {
  return async (context, options) => {
    const output = await definition.execute!(context, options);
    const structured = (output as { structuredContent?: unknown } | null | undefined)?.structuredContent;
    return structured === undefined ? output : structured;
  };
}

function objectSchema(schema: unknown): WireTool["inputSchema"] {
  const given = (schema ?? {}) as Record<string, unknown>;
  return { ...given, type: "object" } as WireTool["inputSchema"];
}
