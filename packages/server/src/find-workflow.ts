import { AgentError, type Mastra } from "@selvedge/core";
import type { Workflow } from "@selvedge/core/workflows";

/** Finds a workflow by its registered name or its id. */
export function findWorkflow(mastra: Mastra, name: string): Workflow {
  const all = mastra.listWorkflows() as Record<string, Workflow>;
  const found = Object.hasOwn(all, name) ? all[name] : Object.values(all).find(({ id }) => id === name);
  if (found) return found;
  throw new AgentError("not-found", `There is no workflow "${name}".`);
}
