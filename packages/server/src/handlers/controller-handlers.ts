import { AgentError } from "@selvedge/core";
import type { MessageInput } from "@selvedge/core/agent";
import {
  type Session,
  type SessionContents,
  type StoredSession,
  toContents,
} from "@selvedge/core/agent-controller";
import { safeMessage } from "@selvedge/core/guards";
import {
  type AgentControllerMessage,
  type SessionInfo,
  toControllerMessage,
} from "@selvedge/protocol/session";
import { admitContents } from "../admit-contents.ts";
import type { Principal } from "../caller.ts";
import { checkMetadata } from "../check-metadata.ts";
import type { Answer, Call, Handlers, Tagged } from "../handler.ts";
import { toRequestContext } from "../run-options.ts";
import { opening } from "../sse/frames.ts";
import { SessionEvents, sessionPlace } from "../sse/session-events.ts";
import { findSession, LOCAL_RESOURCE, noSession, scopedId } from "../subject.ts";
import { neutraliseContents, neutraliseReasons } from "../untrusted-text.ts";

type SessionCall = Pick<Call<"getSession">, "app" | "caller" | "params" | "request" | "session">;
type Contents = SessionContents["contents"];

const SESSIONS = 100;
const MESSAGES = 100;

export const CONTROLLER_HANDLERS: Handlers<Tagged<"controllers">> = {
  listControllers: async ({ app }) => ({ agentControllers: app.controllers().map(({ id }) => ({ id })) }),
  listControllerModes: async ({ app, params }) => ({
    modes: app
      .controller(params.controllerId)
      .listModes()
      .map(({ id, name, description, defaultModelId, transitionsTo }) => ({
        id,
        name,
        description,
        defaultModelId,
        transitionsTo,
      })),
  }),
  listControllerModels: async ({ app, params }) => ({
    models: await app.controller(params.controllerId).listAvailableModels(),
  }),

  listSessions: async ({ app, params, query, caller, resourceId }) => {
    const rows = await app
      .controller(params.controllerId)
      .listSessions({ ownerId: resourceId, limit: query.limit ?? SESSIONS });
    return { sessions: rows.filter((row) => isOf(row, caller)).map((row) => infoOf(row, caller)) };
  },
  createSession,
  getSession: (call) =>
    within(call, async (session) => {
      const { isRunning, queuedFollowUps, tokenUsage, tasks } = session.displayState.get();
      const runId = session.run.getRunId();
      return {
        session: infoOf(session.core.row, call.caller),
        isRunning,
        ...(runId !== null && { runId }),
        queuedFollowUps,
        tokenUsage,
        tasks,
      };
    }),
  deleteSession: async ({ app, params, session }) => {
    await app.controller(params.controllerId).deleteSession({ id: session!.id });
    return { deleted: true };
  },
  streamSession,

  sendSessionMessage: (call) =>
    send(call, toContents(call.body.message, call.body.files), (session, said) => session.admit(said)),
  steerSession: (call) => send(call, call.body.message, (session, said) => session.admit(said)),
  followUpSession: (call) =>
    send(call, toContents(call.body.message, call.body.files), (session, said) => session.queue(said)),
  abortSession: (call) =>
    within(call, async (session) => {
      const runId = session.run.getRunId();
      session.abort();
      return { aborted: runId !== null, ...(runId !== null && { runId }) };
    }),
  answerSessionApproval: (call) => {
    const { toolCallId, approved, declineContext } = call.body;
    const decision = call.body.decision ?? (approved ? "approve" : "decline");
    if (call.body.decision === undefined && approved === undefined)
      throw new AgentError("invalid-argument", "Pass a decision, or approved.");
    if (decision === "always_allow_category") call.caller.require("control", decision);
    const why =
      declineContext && (call.caller.has("signals") ? declineContext : neutraliseReasons(declineContext));
    return within(call, async (session) => ({
      accepted: true,
      ...(await session.respondToToolApproval({
        decision,
        ...(toolCallId !== undefined && { toolCallId }),
        ...(why && { declineContext: why }),
      })),
    }));
  },
  answerSessionSuspension: (call) =>
    within(call, async (session) => ({
      accepted: true,
      ...(await session.respondToToolSuspension(call.body)),
    })),

  switchSessionMode: (call) => change(call, (session) => session.mode.switch(call.body)),
  switchSessionModel: async (call) => {
    await checkModel(call, call.body.modelId);
    return change(call, (session) => session.model.switch(call.body));
  },
  switchSessionThread: (call) => change(call, (session) => session.thread.switch(call.body)),
  moveSession: async (call) => {
    if (!call.caller.isTrusted)
      throw new AgentError(
        "forbidden",
        "Only a server without an authorize function can move a session to another resource.",
      );
    return change(call, (session) => session.setResourceId({ resourceId: call.body.newResourceId }));
  },

  listSessionThreads: (call) =>
    within(call, async (session) => ({ threads: await session.thread.list(call.query) })),
  createSessionThread: (call) =>
    within(call, async (session) => ({
      thread: await session.thread.create(call.body),
      session: infoOf(session.core.row, call.caller),
    })),
  cloneSessionThread: (call) =>
    within(call, async (session) => ({
      thread: await session.thread.clone(call.body),
      session: infoOf(session.core.row, call.caller),
    })),
  renameSessionThread: (call) =>
    change(call, (session) => session.thread.rename({ ...call.body, threadId: call.params.threadId })),
  deleteSessionThread: (call) =>
    change(call, (session) => session.thread.delete({ threadId: call.params.threadId })),
  listSessionMessages: (call) =>
    within(call, async (session) => {
      const { threadId } = call.params;
      await session.thread.require(threadId);
      return { messages: await messagesOf(call, session, threadId, call.query.limit) };
    }),
  listSubagentMessages: (call) =>
    within(call, async (session) => {
      const thread = await session.thread.ofSubagent(call.params);
      return { messages: thread ? await messagesOf(call, session, thread.id, call.query.limit) : [] };
    }),

  getSessionOM: (call) =>
    within(call, async ({ om }) => {
      const role = (one: typeof om.observer) => ({ modelId: one.modelId(), threshold: one.threshold() });
      return { record: await om.record(), observer: role(om.observer), reflector: role(om.reflector) };
    }),
  listFollowUps: (call) => within(call, async (session) => ({ followUps: await session.followUps.list() })),
  editFollowUp: (call) =>
    within(call, async (session) => {
      const id = call.params.messageId;
      const contents = toContents(call.body.message, call.body.files);
      await session.followUps.edit({ id, content: await toSaid(call, contents) });
      return { id };
    }),
  removeFollowUp: (call) =>
    within(call, async (session) => {
      const id = call.params.messageId;
      await session.followUps.remove({ id });
      return { id };
    }),
  steerFollowUp: (call) =>
    within(call, async (session) => {
      const id = call.params.messageId;
      await session.followUps.steer(id);
      return { id };
    }),
  moveFollowUp: (call) =>
    within(call, async (session) => {
      const id = call.params.messageId;
      await session.followUps.move({ id, to: call.body.to });
      return { id };
    }),
  notifySession: (call) =>
    within(call, async (session) => {
      const { record, decision, runId, signal } = await session.sendNotificationSignal(call.body);
      const { streamOptions: _, ...told } = decision;
      return { accepted: true, record, decision: told, runId, signal };
    }),

  getSessionPermissions: (call) =>
    within(call, async ({ permissions }) => ({
      rules: permissions.getRules() as { categories: Record<string, string>; tools: Record<string, string> },
      grants: permissions.getGrants(),
    })),
  setCategoryPermission: (call) => change(call, ({ permissions }) => permissions.setForCategory(call.body)),
  setToolPermission: (call) => change(call, ({ permissions }) => permissions.setForTool(call.body)),
  grantPermissions: (call) => change(call, ({ permissions }) => permissions.grant(call.body)),
  revokePermissions: (call) => change(call, ({ permissions }) => permissions.revoke(call.body)),
  setSessionState: (call) => change(call, ({ state }) => state.set(call.body.updates)),
};

async function messagesOf(
  { caller }: SessionCall,
  session: Session,
  threadId: string,
  limit: number = MESSAGES,
): Promise<AgentControllerMessage[]> {
  const domain = await session.core.host.memory();
  const stored = limit === 0 ? [] : await domain.recentMessages({ threadId, limit });
  const shown = caller.has("inspect") ? stored : stored.map(safeMessage);
  return shown.map(toControllerMessage);
}

/** A session as a caller may see it. */
function infoOf(row: StoredSession, caller: Principal): SessionInfo {
  const { controllerId, id, ownerId, resourceId, threadId, modeId, modelId, tags, settings, version } = row;
  const { state, rules, grants } = row;
  return {
    controllerId,
    id,
    ownerId,
    resourceId,
    ...(threadId !== undefined && { threadId }),
    modeId,
    modelId,
    tags,
    settings,
    version,
    ...(caller.has("control") && { state, rules, grants }),
  };
}

function isOf(row: StoredSession, { resourceId }: Principal): boolean {
  return resourceId === undefined || row.defaultResourceId === resourceId;
}

async function createSession(call: Call<"createSession">): Promise<Answer<"createSession">> {
  const { app, params, body, caller } = call;
  const controller = app.controller(params.controllerId);
  const resourceId = call.resourceId ?? LOCAL_RESOURCE;
  checkMetadata(caller, body.tags);
  const asked = body.id ?? resourceId;
  const found = await findSession(controller, asked, caller);
  if (found && call.resourceId !== undefined && found.defaultResourceId !== call.resourceId)
    throw noSession(asked);
  const isPlain = caller.isTrusted || asked === resourceId;
  const id = found?.id ?? (isPlain ? asked : scopedId(resourceId, asked));
  const { session, release } = await controller.leaseSession({
    id,
    ownerId: found?.ownerId ?? resourceId,
    resourceId: found?.defaultResourceId ?? resourceId,
    requestContext: toRequestContext(undefined, caller),
    ...(body.tags && { tags: body.tags }),
    ...(body.threadId !== undefined && { threadId: body.threadId }),
  });
  try {
    // One that was open already is where it was.
    if (body.threadId !== undefined) await session.thread.goTo(body.threadId);
    return infoOf(session.core.row, caller);
  } finally {
    release();
  }
}

/** Opens the session of a request for as long as the work takes. */
async function within<Value>(call: SessionCall, work: (session: Session) => Promise<Value>): Promise<Value> {
  const { session, release } = await lease(call);
  try {
    return await work(session);
  } finally {
    release();
  }
}

/** The same for a change of the session, and answers what it is now. */
function change(call: SessionCall, work: (session: Session) => Promise<unknown>): Promise<SessionInfo> {
  return within(call, async (session) => {
    await work(session);
    return infoOf(session.core.row, call.caller);
  });
}

async function lease({
  app,
  params,
  session,
  caller,
}: SessionCall): Promise<{ session: Session; release: () => void }> {
  const { id, ownerId, defaultResourceId } = session!;
  const requestContext = toRequestContext(undefined, caller);
  const leased = await app
    .controller(params.controllerId)
    .leaseSession({ id, ownerId, resourceId: defaultResourceId, requestContext });
  // Another process may have changed it a moment ago.
  await leased.session.core.refresh().catch((error: unknown) => {
    leased.release();
    throw error;
  });
  return leased;
}

async function send(
  call: SessionCall & { body: { id?: string | undefined } },
  contents: Contents,
  how: (session: Session, said: SessionContents) => ReturnType<Session["admit"]>,
): Promise<Answer<"sendSessionMessage">> {
  const said: SessionContents = {
    contents: await toSaid(call, contents),
    id: call.body.id,
    requestContext: toRequestContext(undefined, call.caller),
    idempotencyKey: call.request.headers.get("idempotency-key") ?? undefined,
  };
  const { action, runId, duplicate } = await within(call, (session) => how(session, said));
  return { accepted: true, action, runId, duplicate };
}

/** Words of a person, whatever they look like. */
async function toSaid(call: SessionCall, contents: Contents): Promise<Contents> {
  const admitted = (await admitContents(call, contents)) as MessageInput;
  return (call.caller.has("signals") ? admitted : neutraliseContents(admitted as never)) as Contents;
}

/** Those that the app offers, and no others: a model costs what it costs. */
async function checkModel({ app, params, caller }: SessionCall, modelId: string): Promise<void> {
  if (caller.has("control")) return;
  const controller = app.controller(params.controllerId);
  if (controller.listModes().some(({ defaultModelId }) => defaultModelId === modelId)) return;
  const models = await controller.listAvailableModels();
  if (!models.some(({ id }) => id === modelId))
    caller.require("control", `Model "${modelId}", which is not in the catalogue,`);
}

async function streamSession(call: Call<"streamSession">): Promise<Response> {
  const { app, caller, request, params } = call;
  const place = sessionPlace(request);
  const { session, release } = await lease(call);
  const events = await SessionEvents.open(
    {
      session,
      release,
      agent: app.controller(params.controllerId).getCurrentAgent(),
      frames: app.frames(caller, call.request),
      pace: app.pace,
      show: app.shownTo(caller),
      info: (row) => infoOf(row, caller),
      toSafe: (error) => app.toWireError(error, caller.has("inspect"), "A session"),
    },
    place,
  );
  return app.stream(call, events, opening(undefined));
}
