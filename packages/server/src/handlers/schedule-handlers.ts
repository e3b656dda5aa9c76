import { AgentError } from "@selvedge/core";
import type { Schedules } from "@selvedge/core/schedules";
import { noThread } from "@selvedge/core/storage";
import { ownerOfThread } from "@selvedge/core/threads";
import type { JSONValue } from "@selvedge/protocol";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import type { Call, Handlers, Tagged } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";
import { noSchedule, scheduleIdFor } from "../subject.ts";

type Values = Record<string, JSONValue>;
type Body = Call<"createSchedule">["body"] | Call<"updateSchedule">["body"];

export const SCHEDULE_HANDLERS: Handlers<Tagged<"schedules">> = {
  listSchedules: async ({ app, caller, query, resourceId }) => {
    const { resourceId: _, ...filter } = query;
    const { schedules } = app.mastra;
    if (caller.isTrusted) {
      const owner = resourceId === undefined ? {} : { resourceId };
      return { schedules: await schedules.list({ ...filter, ...owner }) };
    }
    const own = await schedules.list({ ...filter, resourceId: resourceId! });
    const ofApp = caller.has("inspect") ? await schedules.list({ ...filter, resourceId: null }) : [];
    return { schedules: [...ofApp, ...own] };
  },
  createSchedule: async ({ app, caller, body, resourceId }) => {
    const { agentId, workflowId, threadId } = body;
    if (threadId !== undefined) {
      checkSignal(body, caller);
      await checkThread(app, agentId, threadId, resourceId);
    }
    if (!caller.isTrusted) checkPace(body.cron);
    const input = {
      ...body,
      ...(body.id !== undefined && { id: storedId(caller, body.id) }),
      ...withContext(body, caller),
      ...(agentId !== undefined && { agentId: app.agent(agentId).id }),
      ...(workflowId !== undefined && { workflowId: workflowIdOf(app, workflowId) }),
      ...(resourceId !== undefined && { resourceId }),
    };
    return app.newSchedules.take(caller.resourceId, async () => {
      await checkShare(app, caller);
      try {
        return await app.mastra.schedules.create(input as object as Parameters<Schedules["create"]>[0]);
      } catch (error) {
        if (!AgentError.is(error, "conflict")) throw error;
        throw new AgentError(
          "conflict",
          `There is already a schedule "${body.id}". Use another id, or update it.`,
        );
      }
    });
  },
  getSchedule: async (call) => {
    const found = await call.app.mastra.schedules.get(idOf(call));
    if (!found) throw noSchedule(call.params.scheduleId);
    return found;
  },
  updateSchedule: async (call) => {
    const { app, caller, body } = call;
    if (!caller.isTrusted && body?.cron !== undefined) checkPace(body.cron);
    const found = await app.mastra.schedules.get(idOf(call));
    if (found?.agentId !== undefined && found.threadId !== undefined)
      checkSignal({ signalType: found.signalType, ...body }, caller);
    const patch = { ...body, ...withContext(body, caller) };
    return app.mastra.schedules.update(idOf(call), patch as object as Parameters<Schedules["update"]>[1]);
  },
  deleteSchedule: async (call) => {
    await call.app.mastra.schedules.delete(idOf(call));
    return { success: true };
  },
  pauseSchedule: (call) => call.app.mastra.schedules.pause(idOf(call)),
  resumeSchedule: (call) => call.app.mastra.schedules.resume(idOf(call)),
  runSchedule: (call) => call.app.mastra.schedules.run(idOf(call)),
  listScheduleTriggers: async (call) => {
    const { app, caller, query } = call;
    const triggers = await app.mastra.schedules.listTriggers(idOf(call), query);
    // Errors contain text of models, tools and stores.
    const shown = caller.has("inspect") ? triggers : triggers.map(({ error: _, ...trigger }) => trigger);
    return { triggers: shown };
  },
};

/** The stored id, which the owner check found. */
function idOf({ scheduleId }: Pick<Call, "scheduleId">): string {
  return scheduleId as string;
}

function storedId({ resourceId }: Principal, id: string): string {
  return resourceId === undefined ? id : scheduleIdFor(resourceId, id);
}

async function checkShare({ limits, mastra }: App, { resourceId }: Principal): Promise<void> {
  if (resourceId === undefined) return;
  const { schedulesPerResource: most } = limits;
  const own = await mastra.schedules.list({ resourceId, limit: 1, offset: Math.max(0, most - 1) });
  if (own.length === 0 && most > 0) return;
  throw new AgentError(
    "too-many-requests",
    `You already have ${most} schedules. Delete one before you create another.`,
  );
}

/** The seconds are the first of six or seven fields. With one second per minute, a pattern cannot fire more often. */
function checkPace(cron: string): void {
  const fields = cron.trim().split(/\s+/);
  if (fields.length < 6 || /^\d+$/.test(fields[0]!)) return;
  throw new AgentError(
    "invalid-argument",
    `A schedule may fire once a minute at most: the first of six fields must be one second, got "${fields[0]}" in cron "${cron}".`,
  );
}

/** A workflow may be named by its key, too. */
function workflowIdOf(app: App, name: string): string {
  const all = app.mastra.listWorkflows() as Record<string, { id: string }>;
  const found = Object.values(all).find(({ id }) => id === name) ?? (Object.hasOwn(all, name) && all[name]);
  if (found) return found.id;
  throw new AgentError("not-found", `There is no workflow "${name}".`);
}

/** A model trusts signals of a system more than what a person says. */
function checkSignal({ signalType }: { signalType?: string | undefined }, caller: Principal): void {
  const isUsers = signalType === "user" || signalType === "user-message";
  if (!isUsers)
    caller.require("signals", `A schedule with signals of the type "${signalType ?? "notification"}"`);
}

async function checkThread(
  app: App,
  agentId: string | undefined,
  threadId: string,
  resourceId: string | undefined,
): Promise<void> {
  const storage = agentId === undefined ? undefined : await app.agent(agentId).getThreadStorage();
  const owner = storage && (await ownerOfThread(storage, threadId));
  if (owner !== undefined && owner !== resourceId) throw noThread(threadId);
}

/** The request context of the runs: what the request says, and over it the plain values of what the app knows. */
function withContext({ requestContext, ifIdle }: NonNullable<Body>, caller: Principal): object {
  if (requestContext !== undefined || ifIdle?.streamOptions?.requestContext !== undefined)
    caller.require("run-options", "requestContext");
  const toContext = (said: Values | undefined): Values =>
    Object.fromEntries(
      [...toRequestContext(said, caller)].filter(([key, value]) => isPlain(value) || said?.[key] === value),
    ) as Values;
  const context = toContext(requestContext);
  const options = ifIdle?.streamOptions;
  return {
    ...(Object.keys(context).length > 0 && { requestContext: context }),
    ...(ifIdle &&
      options && {
        ifIdle: { ...ifIdle, streamOptions: { requestContext: toContext(options.requestContext) } },
      }),
  };
}

function isPlain(value: unknown): boolean {
  return value === null || ["string", "number", "boolean"].includes(typeof value);
}
