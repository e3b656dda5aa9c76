import { AgentError } from "../errors.ts";
import { type Graph, idsOf, type Member, membersOf, type Node } from "./graph.ts";

/**
 * A place in a run, as text: the ids of steps, one per level of nesting, with the iteration of a loop or the item of a
 * `foreach`.
 *
 *     charge              a step of the workflow
 *     order/charge        a step of the nested workflow `order`
 *     order[3]/charge     the same in item 3 of a `foreach`, or in iteration 3 of a loop
 *     ?approve            which members run in the branch whose first member is `approve`, or the array of the `foreach`
 *     ?poll[3]            whether the loop over `poll` goes on after iteration 3
 */
export type Path = string;

/** An id as a part of a path. */
export function segment(id: string): string {
  return SPECIAL.test(id) ? id.replaceAll(/[%/?[\]]/g, encodeCharacter) : id;
}

export function item(path: Path, index: number): Path {
  return `${path}[${index}]`;
}

/** The place of a choice about a step: which of its kind, or whether it is repeated. */
export function choice(prefix: string, id: string, index?: number): Path {
  const path = `${prefix}?${segment(id)}`;
  return index === undefined ? path : item(path, index);
}

export interface PathPart {
  id: string;
  index: number | undefined;
  isChoice: boolean;
}

export function parsePath(path: Path): PathPart[] {
  return path.split("/").map((part) => {
    const [, mark, id, index] = PART.exec(part)!;
    return {
      id: id!.includes("%") ? decodeURIComponent(id!) : id!,
      index: index === undefined ? undefined : Number(index),
      isChoice: mark === "?",
    };
  });
}

/** Whether the graph still has the place. A run begun by another version of the program may have been elsewhere. */
export function hasPlace(graph: Graph, path: Path): boolean {
  let current: Graph | undefined = graph;
  for (const { id, index, isChoice } of parsePath(path)) {
    const node: Node | undefined = current?.places.get(id);
    if (!node || !fits(node, index, isChoice)) return false;
    const member: Member | undefined = memberOf(node, id);
    current = member?.kind === "workflow" ? member.scope.graph : undefined;
  }
  return true;
}

/** Throws if a run was somewhere that the workflow no longer has. Nothing of it has changed then. */
export function checkPlaces(
  graph: Graph,
  { runId, workflowId, records }: { runId: string; workflowId: string; records: readonly { path: Path }[] },
): void {
  const missing = records.map(({ path }) => path).filter((path) => !hasPlace(graph, path));
  if (missing.length === 0) return;
  throw new AgentError(
    "conflict",
    `Run "${runId}" was begun with another version of workflow "${workflowId}", which now lacks or has changed: ${missing.slice(0, 5).join(", ")}. Put the steps back, cancel the run, or use timeTravel().`,
    { details: { runId, missing } },
  );
}

function fits(node: Node, index: number | undefined, isChoice: boolean): boolean {
  switch (node.kind) {
    case "loop":
      return index !== undefined;
    case "foreach":
      return isChoice === (index === undefined);
    case "branch":
      return index === undefined;
    default:
      return index === undefined && !isChoice;
  }
}

/** The step or nested workflow with an id. */
export function memberOf(node: Node, id: string): Member | undefined {
  return membersOf(node).find((member) => member.id === id);
}

/** The nodes of a graph by the ids they contain. */
export function placesOf(nodes: readonly Node[]): Map<string, Node> {
  return new Map(nodes.flatMap((node) => idsOf(node).map((id) => [id, node])));
}

const SPECIAL = /[%/?[\]]/;
const PART = /^(\??)([^[]*)(?:\[(\d+)\])?$/;

function encodeCharacter(character: string): string {
  return `%${character.charCodeAt(0).toString(16).toUpperCase()}`;
}
