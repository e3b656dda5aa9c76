import { pruneBatches } from "./prune.ts";
import type { Pruner } from "./pruners.ts";
import { type ScoreRow, SCORES } from "./score-table.ts";

/** Deletes old scores. */
export const pruneScores: Pruner = (storage, system, { scoresMs }) =>
  pruneBatches<ScoreRow>(storage, system, {
    select: {
      table: SCORES,
      where: { created_at: { lt: Math.trunc(system.now() - scoresMs) } },
      columns: ["id"],
    },
    order: "created_at",
    rows: (found) => [{ id: { in: found.map(({ id }) => id) } }],
  });
