import type { JSONValue } from "@selvedge/protocol";
import type { JsonSchema } from "../schema/schema.ts";
import type { Predicate } from "./predicate.ts";

/** Where a value of a mapping comes from. Of several steps, the first that has a result counts. */
export type DefinedSource =
  | { step: string | string[]; path: string }
  | { initData: unknown; path: string }
  | { value: JSONValue }
  | { requestContextPath: string }
  /** Text with values of the run: `"Dear ${initData.name}"`. */
  | { template: string };

/** A step of a definition: it can stand alone or in a block. */
export type DefinedStep =
  | {
      type: "agent";
      id: string;
      agentId: string;
      outputSchema?: JsonSchema;
      options?: Record<string, JSONValue>;
    }
  | { type: "tool"; id: string; toolId: string }
  | { type: "workflow"; id: string; workflowId: string };

export type DefinedEntry =
  | DefinedStep
  | { type: "mapping"; id: string; mapConfig: Record<string, DefinedSource> }
  | { type: "parallel"; steps: DefinedStep[] }
  | { type: "conditional"; steps: DefinedStep[]; predicates: Predicate[] }
  | { type: "foreach"; step: DefinedStep; opts?: { concurrency?: number } }
  | { type: "loop"; step: DefinedStep; loopType: "dowhile" | "dountil"; predicate: Predicate }
  /** In milliseconds. */
  | { type: "sleep"; duration: number }
  | { type: "sleepUntil"; date: string | number };

/** A workflow as data: `mastra.addDynamicWorkflow()`. */
export interface WorkflowDefinition {
  id: string;
  description?: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
  stateSchema?: JsonSchema;
  requestContextSchema?: JsonSchema;
  metadata?: Record<string, JSONValue>;
  graph: DefinedEntry[];
}
