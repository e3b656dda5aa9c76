import { AgentError } from "@selvedge/core";
import { OPTION_RULES } from "@selvedge/core/guards";
import type { StoredDefinition, WorkflowDefinition } from "@selvedge/core/workflows";
import { isObject } from "@selvedge/protocol";
import type { App } from "../app.ts";
import { checkForeignSchema } from "../check-foreign-schema.ts";
import type { Principal } from "../caller.ts";
import type { Handlers, Tagged } from "../handler.ts";

export const DEFINITION_HANDLERS: Handlers<Tagged<"workflow-definitions">> = {
  listDynamicWorkflows: async ({ app }) => ({ workflows: await app.mastra.listDynamicWorkflows() }),
  upsertDynamicWorkflow: async ({ app, caller, body }) => {
    // Its schemas check the input of everyone who runs it.
    if (!caller.has("run-options")) checkForeignSchema(body);
    for (const entry of body.graph) checkEntry(entry, caller);
    await app.mastra.addDynamicWorkflow(body as object as WorkflowDefinition);
    return find(app, body.id);
  },
  getDynamicWorkflow: ({ app, params }) => find(app, params.definitionId),
  deleteDynamicWorkflow: async ({ app, params }) => {
    const { id } = await find(app, params.definitionId);
    await app.mastra.deleteDynamicWorkflow(id);
    return { success: true };
  },
};

/** Everyone can run the workflow: it must do nothing that its sender may not do. */
function checkEntry(entry: unknown, caller: Principal): void {
  if (!isObject(entry)) return;
  const { type, steps, step, options } = entry;
  for (const inner of [step, steps].flat()) checkEntry(inner, caller);
  if (type === "tool") caller.require("tools", "A step that runs a tool");
  if (type !== "agent" || !isObject(options)) return;
  caller.require("run-options", "The options of an agent's step");
  const closed = Object.keys(options).find((name) => !isOpen(name));
  if (closed !== undefined && !caller.isTrusted)
    throw new AgentError("forbidden", `The option "${closed}" of an agent's step can be set only in code.`);
}

/** Options of the step itself, and those of runs that requests may set: the owner and the thread are not among them. */
function isOpen(name: string): boolean {
  if (name === "retries" || name === "metadata") return true;
  return (
    Object.hasOwn(OPTION_RULES, name) && OPTION_RULES[name as keyof typeof OPTION_RULES].wire !== "closed"
  );
}

async function find(app: App, id: string): Promise<StoredDefinition> {
  const found = await app.mastra.getDynamicWorkflow(id);
  if (found) return found;
  throw new AgentError("not-found", `There is no stored workflow "${id}".`);
}
