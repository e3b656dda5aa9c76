import { AgentError } from "@selvedge/core";
import { noThread, type NotificationDomain, type Storage } from "@selvedge/core/storage";
import {
  editQueued,
  listLanes,
  listQueued,
  listRuns,
  type Lane,
  questionsOf,
  readRunTimeline,
  type RunRecord,
  readThreadOverview,
  removeQueued,
} from "@selvedge/core/threads";
import { NOTIFICATION_STATUSES, type StoredMessage } from "@selvedge/protocol";
import type { App } from "../app.ts";
import type { Principal } from "../caller.ts";
import type { Answer, Handlers } from "../handler.ts";
import { safeWaitingCall } from "@selvedge/core/guards";
import { safeRun } from "../safe-errors.ts";
import { admitContents } from "../admit-contents.ts";
import { neutraliseContents } from "../untrusted-text.ts";
import { threadDomain, requireStorage } from "../thread-domain.ts";
import { toNames } from "../to-names.ts";

export type ThreadRoute =
  | "getThreadState"
  | "listQueue"
  | "editQueued"
  | "removeQueued"
  | "listLanes"
  | "listRuns"
  | "getRun"
  | "listNotifications"
  | "updateNotification";

const INBOX_LIMIT = 200;
const STATUS_OF = { markSeen: "seen", dismiss: "dismissed", archive: "archived" } as const;

export const THREAD_HANDLERS: Handlers<ThreadRoute> = {
  getThreadState: async ({ app, params, query, caller }) => {
    const storage = await storageOf(app, query.agentId);
    const { threadId } = params;
    const overview = await readThreadOverview(storage, threadId);
    if (!overview) throw noThread(threadId);
    const [queue, lanes] = await Promise.all([listQueued(storage, threadId), lanesOf(storage, threadId)]);
    const waiting = overview.waiting.flatMap(questionsOf);
    return {
      threadId,
      activeRunId: overview.activeRunId ?? null,
      runState: overview.runState,
      agentId: overview.agentId,
      lastSeq: overview.lastSeq,
      activeRunAfter: overview.activeRunAfter,
      queue,
      lanes,
      approvals: caller.has("inspect") ? waiting : waiting.map(safeWaitingCall),
    };
  },
  listQueue: async ({ app, params, query }) => ({
    messages: await listQueued(await storageOf(app, query.agentId), params.threadId),
  }),
  editQueued: async (call) => {
    const { app, params, query, body, caller } = call;
    const admitted = await admitContents(call, body.contents);
    const contents = caller.has("signals") ? admitted : neutraliseContents(admitted);
    const storage = await storageOf(app, query.agentId);
    return editQueued(storage, params, contents);
  },
  removeQueued: async ({ app, params, query }) => {
    await removeQueued(await storageOf(app, query.agentId), params);
    return { removed: true };
  },
  listLanes: async ({ app, params, query }) => ({
    lanes: await lanesOf(await storageOf(app, query.agentId), params.threadId),
  }),
  listRuns: async ({ app, params, query, caller }) => {
    const { agentId, page, perPage } = query;
    const { runs, ...rest } = await listRuns(await storageOf(app, agentId), { ...params, page, perPage });
    return { ...rest, runs: runs.map((run) => shown(caller, run)) };
  },
  getRun: async ({ app, params, query, caller }) => {
    const run = await readRunTimeline(await storageOf(app, query.agentId), params);
    if (!run)
      throw new AgentError("not-found", `There is no run "${params.runId}" on thread "${params.threadId}".`);
    return shown(caller, run);
  },
  listNotifications: async ({ app, params, query }) => {
    const domain = await inbox(app, query.agentId);
    const { status, priority, source, search, limit = INBOX_LIMIT } = query;
    const notifications = await domain.listNotifications({
      threadId: params.threadId,
      ...(status !== undefined && { status: toNames("query.status", status, NOTIFICATION_STATUSES) }),
      priority,
      source,
      search,
      limit,
    });
    return { notifications };
  },
  updateNotification: async ({ app, params, query, body }) => {
    const domain = await inbox(app, query.agentId);
    const notification = await domain.updateNotification({
      threadId: params.threadId,
      id: params.notificationId,
      status: STATUS_OF[body.action],
    });
    return { notification };
  },
};

function shown<Run extends RunRecord>(caller: Principal, run: Run): Run {
  return caller.has("inspect") ? run : safeRun(run);
}

async function storageOf(app: App, agentName: string | undefined): Promise<Storage> {
  return requireStorage(await app.storage(agentName));
}

async function inbox(app: App, agentName: string | undefined): Promise<NotificationDomain> {
  return (await (await storageOf(app, agentName)).getStore("notifications"))!;
}

type ShownLane = Answer<"listLanes">["lanes"][number];

/** Lanes with their contents, as far as the history still has them. */
async function lanesOf(storage: Storage, threadId: string): Promise<ShownLane[]> {
  const lanes = await listLanes(storage, threadId);
  if (lanes.length === 0) return [];
  const domain = await threadDomain(storage);
  const { messages } = await domain.listMessagesById({ messageIds: lanes.map((lane) => lane.lastSignalId) });
  const byId = new Map(messages.map((message) => [message.id, message]));
  return lanes.map((lane) => toLane(lane, byId.get(lane.lastSignalId)));
}

function toLane(
  { id, version, cacheKey, mode, updatedAt }: Lane,
  message: StoredMessage | undefined,
): ShownLane {
  const signal = message?.content.metadata?.["signal"] as { metadata?: { value?: unknown } } | undefined;
  const text = message?.content.parts.map((part) => (part.type === "text" ? part.text : "")).join("\n");
  return {
    id,
    version,
    cacheKey,
    mode,
    updatedAt,
    contents: text,
    value: signal?.metadata?.value,
  };
}
