import { routesOf } from "./route.ts";
import {
  anything,
  flag,
  id,
  list,
  number,
  object,
  oneOf,
  openObject,
  optional,
  record,
  text,
  time,
} from "./shape.ts";
import * as shapes from "./shapes.ts";

const scores = routesOf("scores");

export const scorerInfo = openObject({
  scorer: openObject({
    config: openObject({
      id: text(),
      name: optional(text()),
      description: text(),
      type: optional(anything()),
    }),
  }),
  sampling: optional(anything()),
  agentIds: list(text()),
  agentNames: list(text()),
  workflowIds: list(text()),
  /** Whether it is one of the host's `scorers`. */
  isRegistered: flag(),
  source: oneOf("code"),
});

const source = oneOf("LIVE", "TEST");

const scoreInfo = openObject({
  id: text(),
  scorerId: text(),
  runId: text(),
  entityId: text(),
  entityType: text(),
  source,
  score: number(),
  /** With the grant inspect, like what was scored and the prompts of the judge. */
  reason: optional(text()),
  threadId: optional(text()),
  resourceId: optional(text()),
  createdAt: time(),
});

const page = openObject({ scores: list(scoreInfo), pagination: openObject(shapes.pageResult) });
const ofOwner = { ...shapes.page, resourceId: optional(shapes.resourceId) };

export const SCORE_ROUTES = {
  listScorers: scores("GET /api/scores/scorers", {
    summary: "Scorers by id: the host's, and those of its agents and workflows",
    owner: "app",
    response: record(scorerInfo),
  }),
  getScorer: scores("GET /api/scores/scorers/:scorerId", {
    summary: "One scorer, by id",
    owner: "app",
    response: scorerInfo,
  }),
  listScoresByScorerId: scores("GET /api/scores/scorer/:scorerId", {
    summary: "The caller's scores of a scorer, newest first. What was scored is shown with the grant inspect",
    owner: "resource",
    query: object({
      ...ofOwner,
      entityId: optional(id()),
      entityType: optional(id()),
      source: optional(source),
    }),
    response: page,
  }),
  listScoresByRunId: scores("GET /api/scores/run/:runId", {
    summary: "The caller's scores of a run, newest first",
    owner: "resource",
    query: object(ofOwner),
    response: page,
  }),
  listScoresByEntityId: scores("GET /api/scores/entity/:entityType/:entityId", {
    summary: "The caller's scores of an agent (AGENT) or a step (STEP), newest first",
    owner: "resource",
    query: object(ofOwner),
    response: page,
  }),
  saveScore: scores("POST /api/scores", {
    summary: "Stores a score of the caller",
    owner: "resource",
    grant: "control",
    body: object({
      score: openObject({
        scorerId: id(),
        runId: id(),
        entityId: id(),
        entityType: optional(id("Default: AGENT")),
        source,
        score: number(),
        reason: optional(text()),
        resourceId: optional(shapes.resourceId),
      }),
    }),
    response: openObject({ score: scoreInfo }),
  }),
};
