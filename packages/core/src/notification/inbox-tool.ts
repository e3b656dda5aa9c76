import {
  NOTIFICATION_STATUSES,
  type NotificationPriority,
  type NotificationRecord,
  type NotificationStatus,
} from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import { defaultLogger } from "../logger.ts";
import type { NotificationDomain } from "../storage/notification-domain.ts";
import type { VersionedNotification } from "../storage/notification-rows.ts";
import { agentOfActiveRun } from "../thread/inspect/thread-overview.ts";
import { openThreads } from "../thread/threads.ts";
import { createTool, type Tool, type ToolExecutionContext } from "../tool/tool.ts";
import { emit } from "./emit.ts";
import { fullSignal } from "./notification-signal.ts";

/** The tool's input. */
export interface NotificationInboxInput {
  action: "list" | "read" | "markSeen" | "dismiss" | "archive" | "search";
  /** Default: the thread of the run. */
  threadId?: string;
  id?: string;
  status?: NotificationStatus;
  priority?: NotificationPriority;
  source?: string;
  query?: string;
  limit?: number;
}

const INPUT = {
  type: "object",
  properties: {
    action: {
      enum: ["list", "read", "markSeen", "dismiss", "archive", "search"],
      description:
        "list and search show records; read brings the full notifications into the chat; markSeen, dismiss and archive change one record.",
    },
    threadId: { type: "string", description: "Leave out for this thread." },
    id: { type: "string", description: "The record. Needed by markSeen, dismiss and archive." },
    status: { enum: NOTIFICATION_STATUSES as readonly NotificationStatus[] },
    priority: { enum: ["low", "medium", "high", "urgent"] },
    source: { type: "string" },
    query: {
      type: "string",
      maxLength: 1000,
      description: "Words to search for in summary, kind and source. Records with all of them are found.",
    },
    limit: { type: "integer", minimum: 1, maximum: 200 },
  },
  required: ["action"],
  additionalProperties: false,
} as const;

const STATUS = { markSeen: "seen", dismiss: "dismissed", archive: "archived" } as const;
const DEFAULT_LIMIT = 50;
const ATTEMPTS = 50;
/** A notification that is read here is stored in the chat, since no other run will show it. */
const INTO_CHAT = { queued: false, ifActive: "deliver", ifIdle: "persist" } as const;

type Place = { threadId: string; resourceId: string | undefined; runId: string | undefined };
type ReadOne = "delivered" | "markedSeen" | "unavailable" | "alreadyRead";

/** One tool for an agent's whole notification inbox. It shows only records of the run's own resource. */
export function createNotificationInboxTool({
  storage,
}: {
  /** `await storage.getStore("notifications")` */
  storage: NotificationDomain | undefined;
}): Tool<typeof INPUT, undefined> {
  if (!storage) {
    throw new AgentError(
      "storage-required",
      'createNotificationInboxTool() needs storage: await storage.getStore("notifications").',
    );
  }
  return createTool({
    id: "notification-inbox",
    description:
      "The inbox of notifications of this thread. After a <notification-summary>, use read to get the full notifications.",
    inputSchema: INPUT,
    // Reading a record again shows it as read.
    idempotent: true,
    execute: (call: ToolExecutionContext<NotificationInboxInput>) => act(storage, call),
  });
}

async function act(
  domain: NotificationDomain,
  run: ToolExecutionContext<NotificationInboxInput>,
): Promise<unknown> {
  const { context: input } = run;
  const threadId = input.threadId ?? run.threadId;
  if (threadId === undefined)
    throw new AgentError("invalid-argument", "Pass threadId: this call does not belong to a thread.");
  // A run without a resource can only read its own thread.
  if (run.resourceId === undefined && run.runId !== undefined && threadId !== run.threadId)
    throw new AgentError("not-found", `This run cannot read the inbox of thread "${threadId}".`);
  const place = { threadId, resourceId: run.resourceId, runId: run.runId };
  switch (input.action) {
    case "search":
      if (!input.query?.trim()) throw new AgentError("invalid-argument", "search needs a query.");
      return { notifications: await list(domain, place, input, { search: input.query }) };
    case "list":
      return { notifications: await list(domain, place, input) };
    case "read":
      return read(domain, place, input);
    default: {
      const { record } = await find(domain, place, input.id);
      const key = { threadId, id: record.id };
      return { notification: await domain.updateNotification({ ...key, status: STATUS[input.action] }) };
    }
  }
}

function list(
  domain: NotificationDomain,
  { threadId, resourceId }: Place,
  { status, priority, source, limit = DEFAULT_LIMIT }: NotificationInboxInput,
  more: { search?: string; status?: NotificationStatus[] } = {},
): Promise<NotificationRecord[]> {
  return domain.listNotifications({ threadId, resourceId, status, priority, source, limit, ...more });
}

async function read(
  domain: NotificationDomain,
  place: Place,
  input: NotificationInboxInput,
): Promise<Record<ReadOne, number> & { message: string }> {
  const status: NotificationStatus[] = input.status ? [input.status] : ["pending", "delivered"];
  const records =
    input.id === undefined
      ? (await list(domain, place, input, { status })).reverse()
      : [(await find(domain, place, input.id)).record];
  const counts = { delivered: 0, markedSeen: 0, unavailable: 0, alreadyRead: 0 };
  for (const record of records) counts[await readOne(domain, place, record)]++;
  return { message: describe(counts), ...counts };
}

async function readOne(
  domain: NotificationDomain,
  place: Place,
  { id, threadId }: NotificationRecord,
): Promise<ReadOne> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const seen = await domain.read({ threadId, id });
    const status = seen?.record.status;
    if (!seen || (status !== "pending" && status !== "delivered")) return "alreadyRead";
    if (isBeingDecided(domain, seen)) return "unavailable";
    if (seen.record.deliveredSignalId !== undefined) {
      if (await domain.tryUpdate(seen, { status: "seen" })) return "markedSeen";
    } else if (seen.record.resourceId === undefined) return "unavailable";
    else if (await inject(domain, place, seen)) return "delivered";
  }
  return "unavailable";
}

/** Whether its sender is still deciding what to do with it. */
function isBeingDecided(
  { storage, system }: NotificationDomain,
  { undecided, claimOwner, dueAt = 0 }: VersionedNotification,
): boolean {
  return undecided && claimOwner !== undefined && dueAt > system.now() && !storage.isOwnerDead(claimOwner);
}

/** Adds the notification to the chat and marks it seen, in one commit. Returns false if it changed in the meantime. */
async function inject(
  domain: NotificationDomain,
  place: Place,
  seen: VersionedNotification,
): Promise<boolean> {
  const { storage, system } = domain;
  const { threadId, resourceId, agentId } = seen.record;
  // The process that runs the thread is the reader.
  const reader = (await agentOfActiveRun(storage, { threadId, runId: place.runId })) ?? agentId ?? "";
  const inbox = {
    threads: openThreads(storage, system, defaultLogger),
    domain,
    agentId: reader,
    threadId,
    resourceId: resourceId!,
    durableContextKeys: [],
  };
  const emitted = await emit(inbox, {
    records: [seen],
    signal: fullSignal(seen.record),
    delivery: INTO_CHAT,
    change: (_, signal) => ({
      patch: { status: "seen", deliveredSignalId: signal.id, deliverAt: null, summaryAt: null },
    }),
  });
  return emitted !== undefined;
}

async function find(
  domain: NotificationDomain,
  place: Place,
  id: string | undefined,
): Promise<VersionedNotification> {
  if (id === undefined || id === "")
    throw new AgentError("invalid-argument", "This action needs the id of a notification.");
  const seen = await domain.read({ threadId: place.threadId, id });
  const visible = seen && (place.resourceId === undefined || seen.record.resourceId === place.resourceId);
  if (!visible) throw new AgentError("not-found", `There is no notification "${id}" in this inbox.`);
  return seen;
}

function describe({ delivered, markedSeen, unavailable, alreadyRead }: Record<ReadOne, number>): string {
  const parts = [
    `${delivered} ${delivered === 1 ? "notification" : "notifications"} will be delivered into the chat.`,
  ];
  if (markedSeen > 0)
    parts.push(`${markedSeen} had been delivered before and ${markedSeen === 1 ? "is" : "are"} marked seen.`);
  if (alreadyRead > 0) parts.push(`${alreadyRead} had been read before.`);
  if (unavailable > 0) parts.push(`${unavailable} could not be delivered.`);
  return parts.join(" ");
}
