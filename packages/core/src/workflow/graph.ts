import type { Schema } from "../schema/schema.ts";
import type { SchemaCache } from "./schema-cache.ts";
import type { Step, StepContext } from "./step.ts";
import type { WorkflowOptions } from "./workflow-config.ts";
import type { WorkflowHost } from "./workflow-host.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** A condition of a branch or a loop. `iterationCount` counts the executions of a loop's step, from 1. */
export type Condition<Input = any, State = any> = (
  context: StepContext<Input, State> & { iterationCount: number },
) => Awaitable<boolean>;

/**
 * What a workflow consists of, in order. Ids are unique within a graph: a place in a run is known by ids and indexes
 * alone, so a run begun by one version of a program can be finished by the next.
 */
export interface Graph {
  readonly nodes: readonly Node[];
  /** The nodes by the ids they contain. */
  readonly places: ReadonlyMap<string, Node>;
}

/** The rules that hold for the steps of one workflow. */
export interface GraphScope {
  readonly id: string;
  readonly description?: string | undefined;
  readonly inputSchema: Schema;
  readonly stateSchema?: Schema | undefined;
  readonly graph: Graph;
  readonly retryConfig: { readonly attempts: number; readonly delay: number };
  readonly validateInputs: boolean;
  readonly maxIterations: number;
  /** Called when the workflow ends inside another one. */
  readonly hooks?: Pick<WorkflowOptions, "onFinish" | "onError">;
  readonly schemas: SchemaCache;
}

export interface StepNode {
  readonly kind: "step";
  readonly id: string;
  /** The step; one that was given by its id is found in the host when it runs. */
  readonly step: Step | ((host: WorkflowHost | undefined) => Step);
  /** What a step that was given by its id is made from. */
  readonly component?: "AGENT" | "TOOL";
}

export interface NestedNode {
  readonly kind: "workflow";
  readonly id: string;
  readonly scope: GraphScope;
  /** The workflow as a step. */
  readonly step?: Step;
}

export type Member = StepNode | NestedNode;

export interface MapNode {
  readonly kind: "map";
  readonly id: string;
  readonly map: (context: StepContext) => unknown;
  /** For people. */
  readonly source: string;
}

export interface SleepNode {
  readonly kind: "sleep";
  readonly id: string;
  readonly sleep: { ms: number | SleepFunction<number> } | { until: Date | SleepFunction<Date> };
}

export type SleepFunction<Value> = (context: StepContext) => Awaitable<Value>;

interface ParallelNode {
  readonly kind: "parallel";
  readonly members: readonly Member[];
}

export interface BranchNode {
  readonly kind: "branch";
  readonly members: readonly Member[];
  readonly conditions: readonly Condition[];
}

export interface LoopNode {
  readonly kind: "loop";
  readonly body: Member;
  readonly condition: Condition;
  readonly type: "dowhile" | "dountil";
}

export type Concurrency = number | ((args: { inputData: any; getInitData(): any }) => number);

export interface ForeachNode {
  readonly kind: "foreach";
  readonly body: Member;
  readonly concurrency: Concurrency;
}

export type Node =
  | StepNode
  | NestedNode
  | MapNode
  | SleepNode
  | ParallelNode
  | BranchNode
  | LoopNode
  | ForeachNode;

/** The steps and nested workflows of a node. */
export function membersOf(node: Node): readonly Member[] {
  switch (node.kind) {
    case "parallel":
    case "branch":
      return node.members;
    case "loop":
    case "foreach":
      return [node.body];
    case "step":
    case "workflow":
      return [node];
    default:
      return [];
  }
}

/** The ids that a node adds to its graph. */
export function idsOf(node: Node): string[] {
  return node.kind === "map" || node.kind === "sleep" ? [node.id] : membersOf(node).map(({ id }) => id);
}
