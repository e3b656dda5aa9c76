import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Storage } from "../storage/storage.ts";
import { SCORE_DOMAIN } from "../storage/score-domain.ts";

interface ScorerLike {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  run(run: object): unknown;
}

/** A scorer of an agent or a step, and how many runs it scores. */
export interface ScorerEntry {
  scorer: ScorerLike;
  /** `ratio`: the share of runs, from 0 to 1. The same run is always in or out. Default: all. */
  sampling?: { type: "none" } | { type: "ratio"; rate: number };
}

/** Scorers by name, or a function that chooses them. */
export type Scorers =
  | Record<string, ScorerEntry | ScorerLike>
  | ((args: { requestContext: RequestContext<any> }) => unknown);

/** What was scored, and where the scores are kept. */
export interface ScoredWork {
  /** For messages: `agent "weather"`. */
  owner: string;
  runId: string;
  entityId: string;
  entityType: "AGENT" | "STEP";
  threadId?: string | undefined;
  resourceId?: string | undefined;
  requestContext: RequestContext<any>;
  input: unknown;
  output: unknown;
  storage: Storage | undefined;
  logger: Logger;
}

/** Scores finished work and stores the scores. Never fails: problems are logged. */
export async function scoreLive(scorers: Scorers | undefined, work: ScoredWork): Promise<void> {
  const { owner, logger, requestContext } = work;
  try {
    const given = await (typeof scorers === "function" ? scorers({ requestContext }) : scorers);
    for (const [name, entry] of Object.entries((given ?? {}) as Record<string, ScorerEntry | ScorerLike>)) {
      const { scorer, sampling } = "scorer" in entry ? entry : { scorer: entry, sampling: undefined };
      if (typeof scorer?.run !== "function" || !isSampled(sampling, work.runId)) continue;
      await scoreWith(name, scorer, work).catch((error: unknown) =>
        logger.warn(`Scorer "${name}" of ${owner} failed`, error),
      );
    }
  } catch (error) {
    logger.warn(`The scorers of ${owner} failed`, error);
  }
}

async function scoreWith(name: string, scorer: ScorerLike, work: ScoredWork): Promise<void> {
  const { owner: _, storage, logger: __, entityId, entityType, threadId, resourceId, ...scored } = work;
  const stepId = entityType === "STEP" && { stepId: entityId };
  const result = (await scorer.run({ ...scored, ...stepId, resourceId })) as Record<string, unknown>;
  if (!storage || typeof result?.["score"] !== "number") return;
  const { requestContext: ___, ...kept } = result;
  const { description } = scorer;
  const scores = await storage.domain(SCORE_DOMAIN);
  await scores.saveScore({
    ...kept,
    score: result["score"],
    scorerId: scorer.id ?? name,
    runId: work.runId,
    entityId,
    entityType,
    source: "LIVE",
    scorer: { id: scorer.id ?? name, name: scorer.name ?? name, description },
    entity: { id: entityId },
    ...(threadId !== undefined && { threadId }),
    ...(resourceId !== undefined && { resourceId }),
  });
}

function isSampled(sampling: ScorerEntry["sampling"], runId: string): boolean {
  if (!sampling) return true;
  if (sampling.type !== "ratio") return false;
  // FNV-1a: spreads ids evenly, and equal rates choose the same runs.
  let hash = 0x811c9dc5;
  for (let index = 0; index < runId.length; index++)
    hash = Math.imul(hash ^ runId.charCodeAt(index), 0x01000193);
  return (hash >>> 0) / 2 ** 32 < sampling.rate;
}
