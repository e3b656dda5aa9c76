import { AgentError } from "@selvedge/core";
import type { MastraScorer, Score, ScoreDomain, ScorerEntry } from "@selvedge/core/evals";
import type { ScorerInfo } from "@selvedge/protocol/routes";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import type { Call, Handlers, Tagged } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";
import { requireStorage } from "../thread-domain.ts";

type ScorerLike = ScorerEntry["scorer"] & Partial<Pick<MastraScorer, "type">>;

export const SCORE_HANDLERS: Handlers<Tagged<"scores">> = {
  listScorers: ({ app, caller }) => allScorers(app, caller),
  getScorer: async ({ app, caller, params: { scorerId } }) => {
    const all = await allScorers(app, caller);
    if (Object.hasOwn(all, scorerId)) return all[scorerId]!;
    throw new AgentError("not-found", `There is no scorer "${scorerId}".`);
  },
  listScoresByScorerId: async (call) => {
    const { entityId, entityType, source } = call.query;
    const { scorerId } = call.params;
    const scores = await scoresOf(call.app);
    return shown(
      await scores.listScoresByScorerId({ scorerId, entityId, entityType, source, ...filterOf(call) }),
      call,
    );
  },
  listScoresByRunId: async (call) => {
    const scores = await scoresOf(call.app);
    return shown(await scores.listScoresByRunId({ ...call.params, ...filterOf(call) }), call);
  },
  listScoresByEntityId: async (call) => {
    const scores = await scoresOf(call.app);
    return shown(await scores.listScoresByEntityId({ ...call.params, ...filterOf(call) }), call);
  },
  saveScore: async ({ app, caller, body }) => {
    const { entityType = "AGENT", resourceId: said, ...score } = body.score;
    const scores = await scoresOf(app);
    const saved = await scores.saveScore({
      ...score,
      entityType,
      resourceId: caller.resourceId ?? said,
    });
    return { score: toShown(saved.score, caller) };
  },
};

type ListCall = Pick<Call<"listScoresByRunId">, "query" | "resourceId">;

function filterOf({ query: { page, perPage }, resourceId }: ListCall): {
  resourceId: string | undefined;
  pagination: { page: number | undefined; perPage: number | undefined };
} {
  return { resourceId, pagination: { page, perPage } };
}

/** Scores are in the store of the host, or in the one of its memory. */
async function scoresOf(app: App): Promise<ScoreDomain> {
  const storage = requireStorage(app.mastra.getStorage() ?? (await app.storage(undefined)));
  return (await storage.getStore("scores"))!;
}

function shown<Page extends { scores: Score[] }>(page: Page, { caller }: { caller: Principal }): Page {
  return { ...page, scores: page.scores.map((score) => toShown(score, caller)) };
}

/** What was scored contains the instructions of the agent, and a judge may quote them. */
function toShown(score: Score, caller: Principal): Score {
  if (caller.has("inspect")) return score;
  const { id, scorerId, runId, entityId, entityType, source, score: value, createdAt } = score;
  const { threadId, resourceId } = score as { threadId?: string; resourceId?: string };
  return {
    id,
    scorerId,
    runId,
    entityId,
    entityType,
    source,
    score: value,
    createdAt,
    ...(threadId !== undefined && { threadId }),
    ...(resourceId !== undefined && { resourceId }),
  };
}

/** By id: the host's, and those of its agents and workflows. */
async function allScorers({ mastra }: App, caller: Principal): Promise<Record<string, ScorerInfo>> {
  const all = new Map<string, ScorerInfo>();
  for (const [name, scorer] of Object.entries(mastra.listScorers()))
    infoOf(all, name, scorer).isRegistered = true;
  const requestContext = toRequestContext(undefined, caller);
  for (const agent of Object.values(mastra.listAgents()))
    for (const [name, entry] of Object.entries(await agent.listScorers({ requestContext }))) {
      const info = infoOf(all, name, entry as ScorerEntry | ScorerLike);
      info.agentIds.push(agent.id);
      info.agentNames.push(agent.name);
    }
  for (const workflow of Object.values(mastra.listWorkflows()))
    for (const [name, entry] of Object.entries(workflow.listScorers()))
      infoOf(all, name, entry as ScorerEntry | ScorerLike).workflowIds.push(workflow.id);
  return Object.fromEntries(all);
}

/** The entry of a scorer, which is added when it is met first. Prompts and models of judges stay here. */
function infoOf(all: Map<string, ScorerInfo>, name: string, entry: ScorerEntry | ScorerLike): ScorerInfo {
  const { scorer: given, sampling } = "scorer" in entry ? entry : { scorer: entry, sampling: undefined };
  // An id of one of the host's scorers: that one was met first.
  const scorer = (typeof given === "string" ? { id: given } : given) as Partial<MastraScorer>;
  const { id = name, name: title = id, description = "", type } = scorer;
  const found = all.get(id);
  if (found) return found;
  const info: ScorerInfo = {
    scorer: {
      config: { id, name: title, description, ...(typeof type === "string" && { type }) },
    },
    ...(sampling && { sampling }),
    agentIds: [],
    agentNames: [],
    workflowIds: [],
    isRegistered: false,
    source: "code",
  };
  all.set(id, info);
  return info;
}
