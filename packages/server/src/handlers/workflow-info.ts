import type { SerializedStep, SerializedStepEntry, SerializedStepGraph } from "@selvedge/protocol";
import type { Step, Workflow } from "@selvedge/core/workflows";
import type { WorkflowInfo, WorkflowStepInfo } from "@selvedge/protocol/routes";
import type { Principal } from "../caller.ts";
import { jsonSchema } from "./agent-info.ts";

/** A workflow as a caller may see it. Metadata and the source of conditions need the grant `inspect`. */
export function workflowInfo(workflow: Workflow, caller: Principal): WorkflowInfo {
  const inspects = caller.has("inspect");
  const { id, description, config } = workflow;
  const metadata = inspects ? config.metadata : undefined;
  const own = [...stepsOf(workflow.stepGraph, workflow, inspects)];
  // One that is not committed cannot run; it has no graph yet.
  const graph = workflow.committed ? workflow.serializedStepGraph : [];
  return withoutNothing({
    id,
    name: id,
    description: description === "" ? undefined : description,
    metadata,
    inputSchema: jsonSchema(config.inputSchema),
    outputSchema: jsonSchema(config.outputSchema),
    stateSchema: jsonSchema(config.stateSchema),
    requestContextSchema: jsonSchema(config.requestContextSchema),
    steps: Object.fromEntries(own.filter(([id]) => !id.includes("/")).map(named)),
    allSteps: Object.fromEntries(own.map(named)),
    stepGraph: inspects ? graph : withoutSource(graph),
  });
}

type Node = Workflow["stepGraph"][number];
type Member = Extract<Node, { kind: "step" | "workflow" }>;

/** Steps by their paths: ids that lead to them, joined with `/`. */
function* stepsOf(
  nodes: readonly Node[],
  workflow: Workflow,
  inspects: boolean,
  path = "",
): Generator<[path: string, info: WorkflowStepInfo]> {
  for (const member of nodes.flatMap(membersOf)) {
    const at = path + member.id;
    yield [at, memberInfo(at.replaceAll("/", "."), member, workflow, inspects)];
    if (member.kind === "workflow") yield* stepsOf(member.scope.graph.nodes, workflow, inspects, `${at}/`);
  }
}

function membersOf(node: Node): readonly Member[] {
  switch (node.kind) {
    case "step":
    case "workflow":
      return [node];
    case "parallel":
    case "branch":
      return node.members;
    case "loop":
    case "foreach":
      return [node.body];
    default:
      return [];
  }
}

function named([path, info]: [string, WorkflowStepInfo]): [string, WorkflowStepInfo] {
  return [path.replaceAll("/", "."), info];
}

function memberInfo(id: string, member: Member, { host }: Workflow, inspects: boolean): WorkflowStepInfo {
  if (member.kind === "workflow") {
    const { description, inputSchema } = member.scope;
    return withoutNothing({ id, description, inputSchema: jsonSchema(inputSchema), isWorkflow: true });
  }
  const step = typeof member.step === "function" ? orNothing(member.step, host) : member.step;
  return withoutNothing({
    id,
    description: step?.description === "" ? undefined : step?.description,
    inputSchema: jsonSchema(step?.inputSchema),
    outputSchema: jsonSchema(step?.outputSchema),
    resumeSchema: jsonSchema(step?.resumeSchema),
    suspendSchema: jsonSchema(step?.suspendSchema),
    stateSchema: jsonSchema(step?.stateSchema),
    metadata: inspects ? step?.metadata : undefined,
  });
}

/** An agent or tool that a step names may be missing in the host. */
function orNothing(find: (host: Workflow["host"]) => Step, host: Workflow["host"]): Step | undefined {
  try {
    return find(host);
  } catch {
    return undefined;
  }
}

/** A graph without the app's code and metadata. */
export function withoutSource(graph: SerializedStepGraph): SerializedStepGraph {
  return graph.map(entryWithoutSource);
}

function entryWithoutSource(entry: SerializedStepEntry): SerializedStepEntry {
  switch (entry.type) {
    case "step":
    case "foreach":
      return { ...entry, step: stepWithoutSource(entry.step) };
    case "loop":
      return {
        ...entry,
        step: stepWithoutSource(entry.step),
        serializedCondition: { ...entry.serializedCondition, fn: "" },
      };
    case "parallel":
      return {
        ...entry,
        steps: entry.steps.map(({ type, step }) => ({ type, step: stepWithoutSource(step) })),
      };
    case "conditional":
      return {
        ...entry,
        steps: entry.steps.map(({ type, step }) => ({ type, step: stepWithoutSource(step) })),
        serializedConditions: entry.serializedConditions.map(({ id }) => ({ id, fn: "" })),
      };
    case "sleep":
    case "sleepUntil": {
      const { fn: _, ...rest } = entry;
      return rest;
    }
  }
}

function stepWithoutSource({ mapConfig: _, metadata: __, ...step }: SerializedStep): SerializedStep {
  const { serializedStepFlow } = step;
  return serializedStepFlow ? { ...step, serializedStepFlow: withoutSource(serializedStepFlow) } : step;
}

/** Without keys whose value is `undefined`. */
function withoutNothing<Value extends object>(value: {
  [Key in keyof Value]: Value[Key] | undefined;
}): Value {
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined)) as Value;
}
