import type { Write } from "../storage/storage.ts";
import { remove } from "../storage/writes.ts";
import { TABLES_OF_A_RUN, WORKFLOW_RUNS } from "./workflow-tables.ts";

export function deleteWrites(runIds: readonly string[]): Write[] {
  return [
    ...TABLES_OF_A_RUN.map((table) => remove(table as never, { run_id: { in: runIds } } as never)),
    remove(WORKFLOW_RUNS, { run_id: { in: runIds } }),
  ];
}
