import type { FlowDef } from "@selvedge/testing/simulator";
import type { StorePlace } from "../kill/store-factory.ts";
import type { StepPoint } from "./flow-log.ts";

/** Where a child kills itself: around the nth commit of a kind, or the nth time inside a step. */
export interface WorkflowKill {
  /** The kind of a commit, as `kindOf` names it, or a point in a step. */
  point: string | StepPoint;
  when: "before" | "after";
  nth: number;
}

export interface WorkflowChildConfig {
  store: StorePlace;
  flows: FlowDef[];
  /** Steps write down in it what they do. */
  log: string;
  /** Gets the kind of each commit, one per line. */
  commits?: string;
  lease: { leaseMs: number; renewMs: number };
  stepMs: number;
  kill?: WorkflowKill;
}

export type Command =
  | { do: "start"; flow: string; runId: string; input: unknown }
  | { do: "resume"; flow: string; runId: string; step: string; resumeData: unknown }
  | { do: "cancel"; flow: string; runId: string }
  | { do: "read"; flow: string; runId: string }
  /** How many tool calls of agents wait for a person. */
  | { do: "questions" }
  | { do: "close" };

export type Answer = { ok: true; value?: unknown } | { ok: false; code: string; message: string };
