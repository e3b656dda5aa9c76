import type { Domain } from "../storage/domain.ts";
import { pruners } from "../storage/pruners.ts";
import { pruneRuns } from "./prune-runs.ts";
import { WorkflowStore } from "./workflow-store.ts";
import { TABLES_OF_A_RUN, WORKFLOW_GRAPHS, WORKFLOW_RUNS } from "./workflow-tables.ts";

/** What workflows keep in a store. */
export const WORKFLOW_DOMAIN: Domain<WorkflowStore> = {
  name: "workflows",
  version: 4,
  readableFrom: 4,
  tables: [WORKFLOW_RUNS, WORKFLOW_GRAPHS, ...TABLES_OF_A_RUN] as never,
  open: (storage, system) => {
    pruners(storage).set("workflowRuns", pruneRuns);
    return new WorkflowStore(storage, system);
  },
};
