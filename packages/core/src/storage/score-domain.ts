import type { JSONValue } from "@selvedge/protocol";
import type { Domain } from "./domain.ts";
import { type Page, type PageOptions, toWindow } from "./page.ts";
import type { Storage, Where } from "./storage.ts";
import { pruners } from "./pruners.ts";
import { pruneScores } from "./prune-scores.ts";
import { type ScoreRow, SCORES } from "./score-table.ts";
import { insert } from "./writes.ts";
import type { System } from "../system.ts";

/** What a score is made of: of a run, a step or anything else. */
export interface NewScore {
  scorerId: string;
  runId: string;
  entityId: string;
  entityType: string;
  /** `LIVE` for runs, `TEST` for evaluations. */
  source: "LIVE" | "TEST";
  score: number;
  reason?: string | undefined;
  /** Whose run was scored. Over HTTP, only this caller sees the score. */
  resourceId?: string | undefined;
  [more: string]: unknown;
}

export interface Score extends NewScore {
  id: string;
  createdAt: Date;
}

/** Scores, for `storage.getStore("scores")`. */
export const SCORE_DOMAIN: Domain<ScoreDomain> = {
  name: "scores",
  version: 2,
  readableFrom: 1,
  tables: [SCORES] as readonly object[] as Domain["tables"],
  open: (storage, system) => {
    pruners(storage).set("scores", pruneScores);
    return new ScoreDomain(storage, system);
  },
};

interface Filter {
  /** Only scores of this resource. */
  resourceId?: string | undefined;
  pagination?: PageOptions;
}

export interface ListScoresResult {
  scores: Score[];
  pagination: Page;
}

const PER_PAGE = 100;

/** Scores on any store, newest first. */
export class ScoreDomain {
  readonly #storage: Storage;
  readonly #system: System;

  constructor(storage: Storage, system: System) {
    this.#storage = storage;
    this.#system = system;
  }

  async saveScore(score: NewScore): Promise<{ score: Score }> {
    const { scorerId, runId, entityId, entityType, source, score: value, ...more } = score;
    const row: ScoreRow = {
      id: this.#system.newId(),
      scorer_id: scorerId,
      run_id: runId,
      entity_id: entityId,
      entity_type: entityType,
      resource_id: score.resourceId ?? null,
      source,
      score: value,
      more: JSON.parse(JSON.stringify(more)) as JSONValue,
      created_at: Math.trunc(this.#system.now()),
    };
    await this.#storage.commit([insert(SCORES, row)]);
    return { score: toScore(row) };
  }

  async getScoreById({ id }: { id: string }): Promise<Score | null> {
    const [row] = await this.#storage.select({ table: SCORES, where: { id }, limit: 1 });
    return row ? toScore(row) : null;
  }

  listScoresByScorerId({
    scorerId,
    entityId,
    entityType,
    source,
    ...filter
  }: Filter & {
    scorerId: string;
    entityId?: string | undefined;
    entityType?: string | undefined;
    source?: string | undefined;
  }): Promise<ListScoresResult> {
    const more = {
      ...(entityId !== undefined && { entity_id: entityId }),
      ...(entityType !== undefined && { entity_type: entityType }),
      ...(source !== undefined && { source }),
    };
    return this.#list({ scorer_id: scorerId, ...more }, filter);
  }

  listScoresByRunId({ runId, ...filter }: Filter & { runId: string }): Promise<ListScoresResult> {
    return this.#list({ run_id: runId }, filter);
  }

  listScoresByEntityId({
    entityId,
    entityType,
    ...filter
  }: Filter & { entityId: string; entityType: string }): Promise<ListScoresResult> {
    return this.#list({ entity_id: entityId, entity_type: entityType }, filter);
  }

  async #list(of: Where<ScoreRow>, { resourceId, pagination = {} }: Filter): Promise<ListScoresResult> {
    const where = { ...of, ...(resourceId !== undefined && { resource_id: resourceId }) };
    const { limit, offset, page } = toWindow(pagination, PER_PAGE);
    const orderBy = [
      { column: "created_at", direction: "desc" },
      { column: "id", direction: "desc" },
    ] as const;
    const [rows, total] = await Promise.all([
      this.#storage.select({
        table: SCORES,
        where,
        orderBy,
        offset,
        ...(limit !== undefined && { limit }),
      }),
      this.#storage.count({ table: SCORES, where }),
    ]);
    return { scores: rows.map(toScore), pagination: page(total) };
  }
}

function toScore(row: ScoreRow): Score {
  return {
    ...(row.more as Record<string, unknown>),
    id: row.id,
    scorerId: row.scorer_id,
    runId: row.run_id,
    entityId: row.entity_id,
    entityType: row.entity_type,
    source: row.source as Score["source"],
    score: row.score,
    createdAt: new Date(row.created_at),
  };
}
