import { compileSchema, type Schema, type ToolLike } from "@selvedge/core/tools";
import type { AgentInfo, ToolInfo } from "@selvedge/protocol/routes";
import type { AnyAgent } from "../app.ts";
import type { Principal } from "../caller.ts";
import { toRequestContext } from "../run-options.ts";

/** An agent as a caller may see it. What depends on the request and cannot be told now is left out. */
export async function agentInfo(agent: AnyAgent, caller: Principal): Promise<AgentInfo> {
  const options = { requestContext: toRequestContext(undefined, caller) };
  const [tools, agents, workflows, model] = await Promise.all([
    orNothing(agent.listTools(options)),
    orNothing(agent.listAgents(options)),
    orNothing(agent.listWorkflows(options)),
    orNothing(agent.getModel(options)),
  ]);
  const inner = caller.has("inspect")
    ? {
        instructions: toText(await orNothing(agent.getInstructions(options))),
        metadata: await orNothing(agent.getMetadata(options)),
      }
    : {};
  return {
    id: agent.id,
    name: agent.name,
    ...(agent.description !== "" && { description: agent.description }),
    ...withoutNothing(inner),
    ...modelInfo(model),
    tools: Object.fromEntries(
      Object.entries((tools ?? {}) as Record<string, ToolLike>).map(([name, tool]) => [
        name,
        toolInfo(name, tool),
      ]),
    ),
    agents: Object.fromEntries(
      Object.entries((agents ?? {}) as Record<string, AnyAgent>).map(([key, { id, name, description }]) => [
        key,
        { id, name, ...(description !== "" && { description }) },
      ]),
    ),
    workflows: Object.fromEntries(Object.keys(workflows ?? {}).map((name) => [name, { name }])),
    hasMemory: agent.hasMemory,
  };
}

export function toolInfo(name: string, tool: ToolLike): ToolInfo {
  const definition = ((tool as { definition?: object }).definition ?? tool) as {
    id?: unknown;
    description?: unknown;
    inputSchema?: Schema;
    parameters?: Schema;
    outputSchema?: Schema;
    requireApproval?: unknown;
    needsApproval?: unknown;
    execute?: unknown;
  };
  const { id, description } = definition;
  const asks = definition.requireApproval ?? definition.needsApproval;
  return {
    id: typeof id === "string" ? id : name,
    description: typeof description === "string" ? description : "",
    ...withoutNothing({
      inputSchema: jsonSchema(definition.inputSchema ?? definition.parameters),
      outputSchema: jsonSchema(definition.outputSchema),
    }),
    ...(asks !== undefined && asks !== false && { requireApproval: true }),
    ...(typeof definition.execute !== "function" && { clientSide: true }),
  };
}

function jsonSchema(schema: Schema | undefined): Record<string, unknown> | undefined {
  if (!schema) return undefined;
  try {
    return compileSchema(schema).jsonSchema as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function modelInfo(model: unknown): { provider?: string; modelId?: string } {
  const [first] = Array.isArray(model) ? (model as { model?: unknown }[]) : [];
  const one = first ? first.model : model;
  if (typeof one === "string") {
    const [provider, ...rest] = one.split("/");
    return rest.length === 0 ? { modelId: one } : { provider: provider as string, modelId: rest.join("/") };
  }
  const { provider, modelId, id } = Object(one) as { provider?: unknown; modelId?: unknown; id?: unknown };
  if (typeof modelId !== "string") return typeof id === "string" ? modelInfo(id) : {};
  return { ...(typeof provider === "string" && { provider }), modelId };
}

function toText(instructions: unknown): string | undefined {
  if (instructions === undefined) return undefined;
  if (typeof instructions === "string") return instructions;
  const list = Array.isArray(instructions) ? instructions : [instructions];
  return list
    .map((item: unknown) =>
      typeof item === "string" ? item : ((item as { content?: string } | null)?.content ?? ""),
    )
    .join("\n\n");
}

function withoutNothing<Value extends object>(
  value: Value,
): { [Key in keyof Value]: NonNullable<Value[Key]> } {
  return Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)) as never;
}

async function orNothing<Value>(value: Promise<Value>): Promise<Value | undefined> {
  return value.catch(() => undefined);
}
