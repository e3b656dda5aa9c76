import { createHash } from "node:crypto";
import { AgentError } from "@selvedge/core";
import { FIRE_PREFIX } from "@selvedge/core/schedules";
import { checkId, noThread, type Storage } from "@selvedge/core/storage";
import { ownerOfRun, ownerOfThread } from "@selvedge/core/threads";
import type { AgentController, StoredSession } from "@selvedge/core/agent-controller";
import type { AnyRoute } from "@selvedge/protocol/routes";
import type { App } from "./app.ts";
import type { Principal } from "./caller.ts";
import { findResponse, noResponse } from "./openai/stored-responses.ts";

/** The validated parts of a request. */
export interface Input {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
}

/** The subject of a request and its owner. */
export interface Subject {
  /** The owner of what the request reads or creates. `undefined` only when a trusted caller lists everything. */
  resourceId: string | undefined;
  threadId: string | undefined;
  session?: StoredSession;
  /** On routes of workflow runs: the id of the run. A new run may not exist yet. */
  runId?: string;
  /** On routes of schedules: the id under which it is stored. */
  scheduleId?: string;
}

/** The resource of callers who name none, in an app without an authoriser. */
export const LOCAL_RESOURCE = "local";

/**
 * Finds the subject of a request. To callers who do not own it, it responds as if it did not exist. No handler runs
 * before this check.
 */
export async function findSubject(
  route: AnyRoute,
  input: Input,
  caller: Principal,
  app: App,
  request: Request,
): Promise<Subject> {
  if (route.grant) caller.require(route.grant, `${route.method} ${route.path}`);
  const said = caller.resourceId ?? saidResource(input);
  switch (route.owner) {
    case "public":
    case "app":
    case "grant":
    case "resource":
      return { resourceId: said, threadId: undefined };
    case "run":
      return runSubject(input, caller, app);
    case "response":
      return responseSubject(input.params["responseId"], said, app, route.method === "DELETE");
    case "session":
      return sessionSubject(input, caller, app);
    case "workflow-run":
    case "new-workflow-run":
      return workflowRunSubject(route, input, said, app, request);
    case "schedule":
      return scheduleSubject(input, caller, app);
    case "thread":
    case "new-thread":
      return threadSubject(route, input, said, caller, app);
  }
}

async function threadSubject(
  route: AnyRoute,
  input: Input,
  said: string | undefined,
  caller: Principal,
  app: App,
): Promise<Subject> {
  const threadId = firstText(input, route.threadAt);
  if (threadId === undefined) {
    if (input.body["runId"] !== undefined && "message" in input.body) return runSubject(input, caller, app);
    if (input.body["runId"] !== undefined && "signal" in input.body) return runSubject(input, caller, app);
    if (route.owner === "thread") throw new AgentError("invalid-argument", "Pass a threadId.");
    const previous = input.body["previous_response_id"];
    if (typeof previous === "string") return responseSubject(previous, said, app);
    return { resourceId: said ?? LOCAL_RESOURCE, threadId: undefined };
  }
  const storage = await storageOf(input, app);
  const owner = storage && (await ownerOfThread(storage, checkId("threadId", threadId)));
  if (owner === undefined) {
    if (route.owner === "thread") throw noThread(threadId);
    return { resourceId: said ?? LOCAL_RESOURCE, threadId };
  }
  if (said !== undefined && said !== owner) throw noThread(threadId);
  return { resourceId: owner, threadId };
}

async function runSubject(input: Input, caller: Principal, app: App): Promise<Subject> {
  const runId = checkId("runId", input.body["runId"] ?? input.params["runId"]);
  const storage = await storageOf(input, app);
  const run = storage && (await ownerOfRun(storage, runId));
  if (run && (caller.isTrusted || caller.resourceId === run.resourceId))
    return { resourceId: run.resourceId, threadId: run.threadId };
  const kept = run ? undefined : app.ownerOfKeptRun(runId);
  if (kept !== undefined && (caller.isTrusted || caller.resourceId === kept))
    return { resourceId: kept, threadId: undefined };
  throw new AgentError("not-found", `No run "${runId}" is waiting for an answer.`);
}

async function workflowRunSubject(
  { owner }: AnyRoute,
  input: Input,
  said: string | undefined,
  app: App,
  request: Request,
): Promise<Subject> {
  const workflow = app.workflow(input.params["workflowId"] as string);
  const given = input.params["runId"] ?? input.query["runId"];
  const key = keyOf(request, input.body);
  const runId =
    given !== undefined
      ? checkId("runId", given)
      : key === undefined
        ? app.system.newId()
        : runIdFor(workflow.id, said, key);
  const run = await workflow.definition.getWorkflowRunById(runId, { fields: [] });
  if (!run && owner === "new-workflow-run")
    return { resourceId: said, threadId: undefined, runId: checkNewRunId(runId) };
  if (!run || (said !== undefined && said !== run.resourceId)) throw noWorkflowRun(workflow.id, runId);
  return { resourceId: run.resourceId, threadId: undefined, runId };
}

/** A run under the id of a schedule's would keep that from starting. */
export function checkNewRunId(runId: string): string {
  if (!runId.startsWith(FIRE_PREFIX)) return runId;
  throw new AgentError(
    "invalid-argument",
    `Ids that begin with "${FIRE_PREFIX}" are reserved for runs that schedules start, got "${runId}".`,
  );
}

/** The id of a run that is started with a key and without an id: the same for every repetition by the same caller. */
export function runIdFor(workflowId: string, resourceId: string | undefined, key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([workflowId, resourceId ?? null, key]))
    .digest("hex")
    .slice(0, 32);
}

/** The key under which a request counts once. */
export function keyOf(request: Request, body: Record<string, unknown>): string | undefined {
  const key = request.headers.get("idempotency-key") ?? body["idempotencyKey"];
  return key === undefined ? undefined : checkId("Idempotency-Key", key);
}

export function noWorkflowRun(workflowId: string, runId: string): AgentError {
  return new AgentError("not-found", `There is no run "${runId}" of workflow "${workflowId}".`);
}

async function sessionSubject({ params }: Input, caller: Principal, app: App): Promise<Subject> {
  const sessionId = checkId("sessionId", params["sessionId"]);
  const session = await findSession(app.controller(params["controllerId"] as string), sessionId, caller);
  if (!session) throw noSession(sessionId);
  return { resourceId: session.resourceId, threadId: session.threadId, session };
}

async function scheduleSubject({ params }: Input, caller: Principal, app: App): Promise<Subject> {
  const given = checkId("scheduleId", params["scheduleId"]);
  const { resourceId } = caller;
  for (const scheduleId of [...(resourceId === undefined ? [] : [scheduleIdFor(resourceId, given)]), given]) {
    const found = await app.mastra.schedules.get(scheduleId);
    const owner = found?.resourceId;
    const isVisible =
      caller.isTrusted || (owner === undefined ? caller.has("inspect") : owner === resourceId);
    if (found && isVisible) return { resourceId: owner, threadId: undefined, scheduleId };
  }
  throw noSchedule(given);
}

export function noSchedule(id: string): AgentError {
  return new AgentError("not-found", `There is no schedule "${id}".`);
}

/** The stored id of a schedule that an authenticated caller named, so that no caller can claim another's. */
export function scheduleIdFor(resourceId: string, id: string): string {
  return `${id}~${resourceId}`;
}

/** Finds a session by name: the caller's own, or any without an authoriser. */
export async function findSession(
  controller: AgentController,
  id: string,
  { resourceId }: Principal,
): Promise<StoredSession | undefined> {
  const session = await controller.findSession(id);
  if (session && isOwn(session, resourceId)) return session;
  if (resourceId === undefined) return undefined;
  const scoped = await controller.findSession(scopedId(resourceId, id));
  return scoped && isOwn(scoped, resourceId) ? scoped : undefined;
}

/** The stored session id for an authenticated caller, scoped so that no caller can claim another's. */
export function scopedId(resourceId: string, id: string): string {
  return `${resourceId}~${id}`;
}

function isOwn({ ownerId, defaultResourceId }: StoredSession, resourceId: string | undefined): boolean {
  return resourceId === undefined || (ownerId === resourceId && defaultResourceId === resourceId);
}

export function noSession(id: string): AgentError {
  return new AgentError("not-found", `There is no session "${id}".`);
}

async function responseSubject(
  id: unknown,
  said: string | undefined,
  app: App,
  toDelete = false,
): Promise<Subject> {
  const responseId = checkId("responseId", id);
  const found = await findResponse(app, responseId, toDelete);
  if (!found || (said !== undefined && said !== found.response.resourceId)) throw noResponse(responseId);
  return { resourceId: found.response.resourceId, threadId: found.response.threadId };
}

/** Where a request's threads are: with the agent in its path or `model`, otherwise with the memory it names. */
export async function storageOf({ params, query, body }: Input, app: App): Promise<Storage | undefined> {
  const controllerId = params["controllerId"];
  if (typeof controllerId === "string")
    return app.controller(controllerId).getCurrentAgent().getThreadStorage();
  const agentName = params["agentId"] ?? body["model"];
  if (typeof agentName === "string") return app.agent(agentName).getThreadStorage();
  return app.storage(query["agentId"] as string | undefined);
}

function saidResource({ query, body }: Input): string | undefined {
  const memory = body["memory"] as { resource?: string } | undefined;
  const said = memory?.resource ?? body["resourceId"] ?? query["resourceId"];
  return said === undefined ? undefined : checkId("resourceId", said);
}

function firstText(input: Input, paths: readonly string[]): string | undefined {
  for (const path of paths) {
    const [part, ...keys] = path.split(".");
    let value: unknown = input[part as keyof Input];
    for (const key of keys)
      value =
        typeof value === "object" && value !== null && Object.hasOwn(value, key)
          ? (value as never)[key]
          : undefined;
    if (typeof value === "string") return value;
  }
  return undefined;
}
