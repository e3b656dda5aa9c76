import type { StoredMessage } from "@selvedge/protocol";
import type { Logger } from "../logger.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { Storage } from "../storage/storage.ts";
import { SCORE_DOMAIN } from "../storage/score-domain.ts";
import { extractTrajectory } from "./trajectory.ts";

interface ScorerLike {
  readonly id?: string;
  readonly name?: string;
  readonly description?: string;
  readonly type?: unknown;
  run(run: object): unknown;
}

/** A scorer of an agent or a step, and how many runs it scores. */
export interface ScorerEntry {
  /** A scorer, or the id of one that the host has. */
  scorer: ScorerLike | string;
  /** A condition on the run: only runs that meet it are scored. */
  filter?: unknown;
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
  traceId?: string | undefined;
  /** Finds a scorer of the host by its id. Throws if there is none. */
  findScorer?: ((id: string) => unknown) | undefined;
  /** Whether a run meets a filter. */
  meets(filter: unknown, values: Record<string, unknown>): boolean;
}

/** Scores finished work and stores the scores. Never fails: problems are logged. */
export async function scoreLive(scorers: Scorers | undefined, work: ScoredWork): Promise<void> {
  const { owner, logger, requestContext } = work;
  try {
    const given = await (typeof scorers === "function" ? scorers({ requestContext }) : scorers);
    for (const [name, entry] of Object.entries((given ?? {}) as Record<string, ScorerEntry | ScorerLike>)) {
      await scoreEntry(name, "scorer" in entry ? entry : { scorer: entry }, work).catch((error: unknown) =>
        logger.warn(`Scorer "${name}" of ${owner} failed`, error),
      );
    }
  } catch (error) {
    logger.warn(`The scorers of ${owner} failed`, error);
  }
}

async function scoreEntry(name: string, entry: ScorerEntry, work: ScoredWork): Promise<void> {
  const { filter, sampling } = entry;
  const scorer = (
    typeof entry.scorer === "string" ? work.findScorer?.(entry.scorer) : entry.scorer
  ) as ScorerLike;
  if (typeof scorer?.run !== "function") return;
  if (filter !== undefined && !work.meets(filter, filterValues(work))) return;
  if (isSampled(sampling, work.traceId ?? work.runId)) await scoreWith(name, scorer, work);
}

/** What a filter can read. */
function filterValues(work: ScoredWork): Record<string, unknown> {
  const { requestContext, entityId, entityType, threadId, resourceId } = work;
  return {
    requestContext: requestContext.toJSON(),
    entity: { id: entityId, type: entityType },
    entityType,
    source: "LIVE",
    threadId,
    resourceId,
  };
}

async function scoreWith(name: string, scorer: ScorerLike, work: ScoredWork): Promise<void> {
  const { storage, entityId, threadId, resourceId, runId, requestContext, input, traceId } = work;
  const isTrajectory = scorer.type === "trajectory" && work.entityType === "AGENT";
  const entityType = isTrajectory ? "TRAJECTORY" : work.entityType;
  const output = isTrajectory ? extractTrajectory(work.output as StoredMessage[]) : work.output;
  const stepId = entityType === "STEP" && { stepId: entityId };
  const run = { runId, requestContext, input, output, ...stepId, resourceId };
  const result = (await scorer.run(run)) as Record<string, unknown>;
  if (!storage || typeof result?.["score"] !== "number") return;
  const { requestContext: _, ...kept } = result;
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
    ...(traceId !== undefined && { traceId }),
    ...(threadId !== undefined && { threadId }),
    ...(resourceId !== undefined && { resourceId }),
  });
}

function isSampled(sampling: ScorerEntry["sampling"], id: string): boolean {
  if (!sampling) return true;
  if (sampling.type !== "ratio") return false;
  // FNV-1a: spreads ids evenly, and equal rates choose the same runs.
  let hash = 0x811c9dc5;
  for (let index = 0; index < id.length; index++) hash = Math.imul(hash ^ id.charCodeAt(index), 0x01000193);
  return (hash >>> 0) / 2 ** 32 < sampling.rate;
}
