import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { Tool } from "../tool/tool.ts";
import { isAgentLike } from "./agent-like.ts";
import { agentStep } from "./agent-step.ts";
import { type Graph, type GraphScope, idsOf, type Member, membersOf, type Node } from "./graph.ts";
import { placesOf } from "./path.ts";
import type { Step } from "./step.ts";
import { toolStep } from "./tool-step.ts";
import { MAX_NESTING, MAX_STEPS } from "./workflow-limits.ts";

/** A workflow that can stand where a step can. */
interface Nestable extends Step {
  readonly committed: boolean;
  readonly rules: GraphScope;
}

/** Collects the nodes of a workflow. Ids are unique; those of maps and sleeps say what they follow. */
export class GraphBuilder {
  readonly #workflowId: string;
  readonly #nodes: Node[] = [];
  readonly #ids = new Set<string>();
  /** The last node, by its ids: where a map or a sleep is. */
  #last = "input";

  constructor(workflowId: string) {
    this.#workflowId = workflowId;
  }

  get isEmpty(): boolean {
    return this.#nodes.length === 0;
  }

  get nodes(): readonly Node[] {
    return this.#nodes;
  }

  add(node: Node): void {
    const ids = idsOf(node);
    const twice = ids.find((id, index) => this.#ids.has(id) || ids.indexOf(id) !== index);
    if (twice !== undefined)
      throw new AgentError(
        "invalid-argument",
        `Workflow "${this.#workflowId}" has two steps with the id "${twice}". Use cloneStep(step, { id }) or cloneWorkflow(workflow, { id }).`,
      );
    for (const id of ids) this.#ids.add(id);
    this.#nodes.push(node);
    this.#last = ids.join("+").slice(0, 100);
  }

  /**
   * An id for a map or a sleep. It depends on what comes before and not on a position, so that a stored run finds it
   * again after other parts of the workflow have changed.
   */
  idAfter(kind: "mapping" | "sleep"): string {
    const wanted = `${kind}_${this.#last}`;
    for (let count = 1; ; count++) {
      const id = count === 1 ? wanted : `${wanted}_${count}`;
      if (!this.#ids.has(id)) return id;
    }
  }

  /** A step, workflow, tool or agent as a part of the graph. */
  member(from: unknown): Member {
    if (isNestable(from)) return { kind: "workflow", id: from.id, scope: from.rules, step: from };
    if (from instanceof Tool) return { kind: "step", id: from.id, step: toolStep(from) };
    if (isAgentLike(from)) return { kind: "step", id: from.id, step: agentStep(from) };
    const step = from as Partial<Step> | undefined;
    if (typeof step !== "object" || step === null || typeof step.execute !== "function")
      throw new AgentError(
        "invalid-argument",
        `Workflow "${this.#workflowId}" needs steps made by createStep(), workflows, agents or tools, got ${showValue(from)}.`,
      );
    return { kind: "step", id: checkId("The id of a step", step.id), step: step as Step };
  }

  build(): Graph {
    const nodes = [...this.#nodes];
    const graph = { nodes, places: placesOf(nodes) };
    const { depth, steps } = sizeOf(graph);
    if (steps > MAX_STEPS)
      throw new AgentError(
        "limit-exceeded",
        `Workflow "${this.#workflowId}" has ${steps} steps, including nested workflows; the limit is ${MAX_STEPS}.`,
      );
    if (depth > MAX_NESTING)
      throw new AgentError(
        "limit-exceeded",
        `Workflow "${this.#workflowId}" has more than ${MAX_NESTING} levels of nested workflows.`,
      );
    return graph;
  }
}

function isNestable(value: unknown): value is Nestable {
  return typeof value === "object" && value !== null && "rules" in value && "committed" in value;
}

interface Size {
  /** Levels of nested workflows. */
  depth: number;
  /** Steps at all levels. */
  steps: number;
}

/** Each graph is measured once: a few that contain each other many times have no end of steps. */
const sizes = new WeakMap<Graph, Size>();

function sizeOf(graph: Graph): Size {
  const known = sizes.get(graph);
  if (known) return known;
  const size = { depth: 0, steps: graph.places.size };
  for (const member of graph.nodes.flatMap(membersOf)) {
    const inner = member.kind === "workflow" ? sizeOf(member.scope.graph) : undefined;
    size.depth = Math.max(size.depth, inner ? inner.depth + 1 : 0);
    size.steps += inner?.steps ?? 0;
  }
  sizes.set(graph, size);
  return size;
}
