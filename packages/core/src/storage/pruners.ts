import type { System } from "../system.ts";
import type { Retention } from "./prune.ts";
import type { Storage } from "./storage.ts";

const KEY = Symbol.for("selvedge.pruners");

/** Deletes old finished data of one part of the system. Returns how much. */
export type Pruner = (storage: Storage, system: System, retention: Retention) => Promise<number>;

/** What deletes old data besides core's own tables, by name. Domains add themselves when they are opened. */
export function pruners(storage: Storage): Map<"workflowRuns" | "scores", Pruner> {
  return storage.attach(KEY, () => new Map());
}
