import { AgentError, showValue } from "../errors.ts";
import type { Resumption } from "../run/resume.ts";
import type { Tool, ToolsInput } from "../tool/tool.ts";
import type { WorkflowHost } from "../workflow/workflow-host.ts";
import type { Workflow } from "../workflow/workflow.ts";
import { WORKFLOW_TOOL, workflowTool, workflowWaitOf } from "./workflow-tool.ts";

/** Creates the tools of an agent's workflows, once per workflow. */
export class WorkflowTools {
  readonly #made = new WeakMap<Workflow, Map<string, Tool>>();
  readonly #byKey = new Map<string, Workflow>();

  toolsFor(workflows: Record<string, Workflow>, host: WorkflowHost | undefined): ToolsInput {
    return Object.fromEntries(
      Object.entries(workflows).map(([key, workflow]) => [
        `${WORKFLOW_TOOL}${key}`,
        this.#tool(key, workflow, host),
      ]),
    );
  }

  /** Cancels the workflows of calls that no longer have a caller: they were declined, or their run was aborted. */
  async cancelFor({ calls, abort }: Pick<Resumption, "calls" | "abort">, isAborted: boolean): Promise<void> {
    for (const call of calls) {
      const isOver = call.state === "decided" ? call.decision?.approved === false : call.state === "waiting";
      const wait = (abort || isAborted || call.state === "decided") && isOver && workflowWaitOf(call);
      if (!wait) continue;
      const run = await this.#byKey.get(wait.key)?.createRun({ runId: wait.runId });
      await run?.cancel();
    }
  }

  #tool(key: string, workflow: Workflow, host: WorkflowHost | undefined): Tool {
    if (typeof workflow?.createRun !== "function")
      throw new AgentError(
        "invalid-argument",
        `workflows.${key} must be a workflow made by createWorkflow(), got ${showValue(workflow)}.`,
      );
    // Its runs are in the store of the agent's host, unless it is registered with another.
    if (!workflow.host && host) workflow.useHost(host);
    this.#byKey.set(key, workflow);
    const known = this.#made.get(workflow) ?? new Map<string, Tool>();
    this.#made.set(workflow, known);
    const tool = known.get(key) ?? (workflowTool(key, workflow) as Tool);
    known.set(key, tool);
    return tool;
  }
}
