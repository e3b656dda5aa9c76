import type { SerializedStep, SerializedStepEntry, SerializedStepGraph } from "@selvedge/protocol";
import type { Graph, Member, Node } from "./graph.ts";

/** A graph for people and programs that show it. Functions become their source text. */
export function serializeGraph({ nodes }: Graph): SerializedStepGraph {
  return nodes.map(toEntry);
}

function toEntry(node: Node): SerializedStepEntry {
  switch (node.kind) {
    case "step":
    case "workflow":
      return { type: "step", step: toStep(node) };
    case "map":
      return { type: "step", step: { id: node.id, component: "MAP", mapConfig: node.source } };
    case "sleep": {
      const { sleep, id } = node;
      if ("ms" in sleep)
        return {
          type: "sleep",
          id,
          ...(typeof sleep.ms === "function" ? { fn: String(sleep.ms) } : { duration: sleep.ms }),
        };
      const { until } = sleep;
      return {
        type: "sleepUntil",
        id,
        ...(typeof until === "function" ? { fn: String(until) } : { date: until.getTime() }),
      };
    }
    case "parallel":
      return { type: "parallel", steps: node.members.map(toMember) };
    case "branch":
      return {
        type: "conditional",
        steps: node.members.map(toMember),
        serializedConditions: node.conditions.map((condition, index) => ({
          id: `${node.members[index]!.id}-condition`,
          fn: String(condition),
        })),
      };
    case "loop":
      return {
        type: "loop",
        step: toStep(node.body),
        serializedCondition: { id: `${node.body.id}-condition`, fn: String(node.condition) },
        loopType: node.type,
      };
    case "foreach": {
      const { concurrency } = node;
      return {
        type: "foreach",
        step: toStep(node.body),
        opts: { concurrency: typeof concurrency === "number" ? concurrency : 1 },
      };
    }
  }
}

function toMember(member: Member): { type: "step"; step: SerializedStep } {
  return { type: "step", step: toStep(member) };
}

function toStep(member: Member): SerializedStep {
  if (member.kind === "workflow") {
    const { description } = member.scope;
    return {
      id: member.id,
      ...(description !== undefined && { description }),
      component: "WORKFLOW",
      serializedStepFlow: serializeGraph(member.scope.graph),
    };
  }
  // A step that is found in the host when it runs.
  if (typeof member.step === "function") return { id: member.id, component: member.component ?? "TOOL" };
  const { id, description, metadata, component, resumeSchema, suspendSchema } = member.step;
  return {
    id: member.id ?? id,
    ...(description !== undefined && { description }),
    ...(metadata && { metadata }),
    ...(component && { component }),
    ...((resumeSchema ?? suspendSchema) !== undefined && { canSuspend: true }),
  };
}
