import type { Graph } from "./graph.ts";
import { memberOf } from "./path.ts";
import type { Step } from "./step.ts";
import type { WorkflowHost } from "./workflow-host.ts";

/** The step at the end of a path of ids, through nested workflows. */
export function stepAt(
  graph: Graph,
  path: readonly string[],
  host: WorkflowHost | undefined,
): Step | undefined {
  let inside = graph;
  let step: Step | undefined;
  for (const id of path) {
    const node = inside.places.get(id);
    const member = node && memberOf(node, id);
    if (member?.kind === "workflow") inside = member.scope.graph;
    else if (member) step = typeof member.step === "function" ? member.step(host) : member.step;
  }
  return step;
}
