import { compileSchema, type Schema, type ToolLike } from "@selvedge/core/tools";
import type { AnyAgent } from "../app.ts";
import type { Principal } from "../caller.ts";
import type { Answer } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";

/** An agent as a caller may see it. Parts that depend on a request are left out if they cannot be resolved. */
export async function agentInfo(agent: AnyAgent, caller: Principal): Promise<Answer<"getAgent">> {
  const options = { requestContext: toRequestContext(undefined, caller) };
  const [tools, agents, workflows, model] = await Promise.all([
    orNothing(agent.listTools(options)),
    orNothing(agent.listAgents(options)),
    orNothing(agent.listWorkflows(options)),
    orNothing(agent.getModel(options)),
  ]);
  const inspects = caller.has("inspect");
  return {
    id: agent.id,
    name: agent.name,
    description: agent.description || undefined,
    instructions: inspects ? toText(await orNothing(agent.getInstructions(options))) : undefined,
    metadata: inspects ? await orNothing(agent.getMetadata(options)) : undefined,
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
        { id, name, description: description || undefined },
      ]),
    ),
    workflows: Object.fromEntries(Object.keys(workflows ?? {}).map((name) => [name, { name }])),
    hasMemory: agent.hasMemory,
  };
}

export function toolInfo(name: string, tool: ToolLike): Answer<"getTool"> {
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
    inputSchema: jsonSchema(definition.inputSchema ?? definition.parameters),
    outputSchema: jsonSchema(definition.outputSchema),
    requireApproval: asks === undefined || asks === false ? undefined : true,
    clientSide: typeof definition.execute === "function" ? undefined : true,
  };
}

export function jsonSchema(schema: Schema | undefined): Record<string, unknown> | undefined {
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

async function orNothing<Value>(value: Promise<Value>): Promise<Value | undefined> {
  return value.catch(() => undefined);
}
