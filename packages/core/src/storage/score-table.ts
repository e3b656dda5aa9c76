import type { Table } from "./table.ts";

export type ScoreRow = {
  id: string;
  scorer_id: string;
  run_id: string;
  entity_id: string;
  entity_type: string;
  /** Whose run was scored. `null` if it was nobody's. */
  resource_id: string | null;
  source: string;
  score: number;
  /** Everything else, such as the reason and what was scored. */
  more: unknown;
  created_at: number;
};

export const SCORES: Table<ScoreRow> = {
  name: "selvedge_scores",
  columns: {
    id: "text",
    scorer_id: "text",
    run_id: "text",
    entity_id: "text",
    entity_type: "text",
    resource_id: "text",
    source: "text",
    score: "real",
    more: "json",
    created_at: "integer",
  },
  key: ["id"],
  partition: "id",
  indexes: [
    { columns: ["scorer_id", "created_at"] },
    { columns: ["run_id", "created_at"] },
    { columns: ["entity_type", "entity_id", "created_at"] },
    // The cost of what one resource asks for depends on its own scores only.
    { columns: ["resource_id", "scorer_id", "created_at"] },
    { columns: ["resource_id", "entity_type", "entity_id", "created_at"] },
    { columns: ["created_at"] },
  ],
};
