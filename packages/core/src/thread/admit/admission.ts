import type { StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../../errors.ts";
import type { AgentExecutionOptions } from "../../run/run-options.ts";
import { echoOf } from "../../signal/echo.ts";
import { cleanAttributes, type CreatedAgentSignal, type SignalAttributes } from "../../signal/signal.ts";
import { insertMessage, insertThread, touchOwnThread } from "../../storage/message-writes.ts";
import type { CommitResult, Write } from "../../storage/storage.ts";
import { MESSAGES, THREADS } from "../../storage/tables.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
import { type Actor, checkOwnership, insertActor, readActor, requireRun } from "../hold/actor.ts";
import { decideDelivery, type Delivery, type DeliveryOptions } from "./delivery.ts";
import { insertEvents } from "../log/event-log.ts";
import {
  type Due,
  type MailboxItem,
  itemBytes,
  CONTINUE,
  NEXT,
  nothingDueNow,
  NOW,
  postItem,
  readMailbox,
  runOpenedBy,
} from "./mailbox.ts";
import { QueueWatch } from "../inspect/queue-watch.ts";
import { storeOptions } from "../../run/stored-options.ts";
import type { Thread } from "../hold/thread.ts";
import type { LocalThreads } from "../hold/local-threads.ts";
import { requireNone, requireRow, update } from "../../storage/writes.ts";
import { noThread } from "../../storage/no-thread.ts";

/** The outcome of a stored send. */
export interface Admitted {
  action: Delivery["action"];
  runId: string | undefined;
  /** The same key was sent before: this is the first result. */
  duplicate?: true;
}

/** The same with the signal as accepted: with the attributes of the chosen branch. */
export interface AdmittedSignal extends Admitted {
  signal: CreatedAgentSignal;
}

export interface SendRequest {
  signal: CreatedAgentSignal;
  /** Sent instead of the signal: results of a client's tools. */
  messages?: StoredMessage[];
  agentId: string;
  delivery: DeliveryOptions;
  /** The sender chose the id, so another message may have it. */
  hasOwnId?: boolean;
  /** The run it opens, if it opens one. */
  newRunId: string;
  streamOptions?: AgentExecutionOptions | undefined;
  /** The part of the request context that may be stored. */
  durableContextKeys: readonly string[];
  /** Further attributes of the signal, by its outcome. */
  attributes?: { active: SignalAttributes | undefined; idle: SignalAttributes | undefined };
  idempotencyKey?: string | undefined;
  /**
   * Writes that count only if the signal is accepted, such as the new state of a lane. Not requested for a discarded
   * one.
   */
  alongside?: (delivery: Delivery, signal: CreatedAgentSignal) => Promise<Alongside>;
}

interface Alongside {
  writes: readonly Write[];
  /** The signal, if it says what it is accepted with. */
  signal?: CreatedAgentSignal;
}

/** The input of a decision. */
interface ThreadState {
  actor: Actor | undefined;
  /** If the agent has no run, its item that is about to open one: later signals join that run. */
  reserved: MailboxItem | undefined;
}

/** A decision that is not written yet. */
export interface Admission {
  request: SendRequest;
  delivery: Delivery;
  runId: string;
  /** The signal with the attributes of the branch. */
  signal: CreatedAgentSignal;
  /** If it opens its run at once: what the run is opened with. */
  item?: NewItem | undefined;
}

type NewItem = Omit<MailboxItem, "seq">;

export async function readState(thread: Thread, agentId: string): Promise<ThreadState> {
  const { storage, threadId, resourceId } = thread;
  // An earlier message may be opening its run: later ones join that.
  await thread.looked();
  // Signals that arrive while a call prepares its input join the run of the call.
  if (thread.run?.isTaking) await thread.run.makeKnown();
  const actor = await readActor(storage, threadId);
  checkOwnership(actor, threadId, resourceId);
  const isActive = actor?.runId !== undefined && actor.agentId === agentId;
  if (!actor || isActive || actor.mailboxCount === 0) return { actor, reserved: undefined };
  const [reserved] = await readMailbox(storage, threadId, { due: NOW, agentId, limit: 1 });
  return { actor, reserved };
}

/**
 * Whether a signal of the agent would join a run. Another agent's run counts as idle: the signal opens a run after it.
 */
export async function stateFor(thread: Thread, agentId: string): Promise<"active" | "idle"> {
  const { actor, reserved } = await readState(thread, agentId);
  const active = actor?.runId === undefined ? reserved?.agentId : actor.agentId;
  return active === agentId ? "active" : "idle";
}

export function decide({ actor, reserved }: ThreadState, request: SendRequest): Admission {
  const run = { activeRunId: actor?.runId, activeAgentId: actor?.agentId };
  const opening = reserved && { activeRunId: runOpenedBy(reserved), activeAgentId: reserved.agentId };
  const isBusy = actor?.runId !== undefined;
  let delivery = decideDelivery(isBusy ? run : (opening ?? run), request.agentId, request.delivery);
  // Behind another agent's run it waits with earlier signals of its own agent.
  if (isBusy && opening && delivery.action === "queue" && !request.delivery.queued)
    delivery = { action: "deliver", branch: "idle", runId: opening.activeRunId };
  const runId =
    delivery.action === "deliver"
      ? delivery.runId
      : ("runId" in delivery && delivery.runId) || request.newRunId;
  return { request, delivery, runId, signal: onBranch(request, delivery) };
}

export function toAdmitted({ delivery: { action }, runId, signal }: Admission): AdmittedSignal {
  return { action, runId, signal };
}

/** The state the decisions were based on, except the owner and the active run, which `deliveryWrites` checks. */
export function guards(thread: Thread, { actor, reserved }: ThreadState): Write[] {
  return [
    ...(actor ? [] : [insertActor(thread.threadId, thread.resourceId)]),
    ...(reserved ? [requireRow(MAILBOX, { id: reserved.signal.id })] : []),
  ];
}

/** The effects of the decisions, on condition that the same run is active, or none. */
export function deliveryWrites(
  threads: LocalThreads,
  thread: Thread,
  { actor }: ThreadState,
  admissions: readonly Admission[],
): Write[] {
  const { threadId, resourceId, system } = thread;
  // One that takes the thread requires that itself.
  const sameRun = admissions.some(({ item }) => item) ? [] : [requireRun(threadId, actor?.runId)];
  const first = actor?.nextSeq ?? 1;
  let nextSeq = first;
  const items: Write[] = [];
  const stored: Write[] = [];
  for (const admission of admissions) {
    const { request, delivery, runId, signal } = admission;
    if (delivery.action === "discard") continue;
    if (delivery.action !== "persist") {
      if (request.hasOwnId) items.push(requireNone(MESSAGES, { id: signal.id }));
      items.push(...post(threads, thread, admission));
      continue;
    }
    stored.push(insertMessage(signal.toDBMessage({ threadId, resourceId })));
    // Nothing is inserted between the events of a run, even another agent's.
    if (delivery.branch === "active" || actor?.runId !== undefined) continue;
    const chunks = pseudoRun(signal, runId);
    stored.push(insertEvents(threadId, runId, nextSeq, chunks, { now: system.now(), rests: true }));
    nextSeq += chunks.length;
  }
  if (stored.length === 0)
    return [requireNone(THREADS, { id: threadId, resource_id: { ne: resourceId } }), ...sameRun, ...items];
  const now = new Date(system.now());
  return [
    ...(nextSeq === first ? sameRun : [moveSeq(thread, first, nextSeq)]),
    ...items,
    insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now }),
    ...stored,
    touchOwnThread(threadId, resourceId, now.getTime()),
  ];
}

/** Commits decisions and triggers what follows from them. */
export async function commitAdmissions(
  threads: LocalThreads,
  thread: Thread,
  admissions: readonly Admission[],
  writes: readonly Write[],
  commit: (writes: readonly Write[]) => Promise<CommitResult> = (all) =>
    thread.storage.commit(all, { key: thread.threadId, id: thread.system.newId() }),
): Promise<void> {
  for (const { delivery, request } of admissions) {
    const opens = delivery.action === "wake" || delivery.action === "queue";
    if (opens && request.streamOptions) threads.keepOptions(request.signal.id, request.streamOptions);
  }
  try {
    const { auto } = await commit(writes);
    for (const [index, write] of writes.entries()) {
      if (write.op === "insert" && write.table === MAILBOX) thread.posted(auto[index]);
    }
  } catch (error) {
    // The commit may have succeeded anyway; the thread then has work to do, and its readers something to read.
    if (mayHaveTakenEffect(error)) {
      thread.wake();
      thread.tail.refresh();
    } else for (const { request } of admissions) threads.dropOptions(request.signal.id);
    throw error;
  }
  threads.directory.claim(thread, thread.resourceId);
  // On an idle thread, too: another message may be faster.
  if (writes.some((write) => write.op === "insert" && write.table === MAILBOX && write.row["due"] === NEXT))
    QueueWatch.of(thread.storage).changed(thread.threadId);
  for (const { delivery, item } of admissions) {
    // Its run is open already.
    if (item) continue;
    if (delivery.action === "wake" || delivery.action === "queue") thread.wake();
    else if (delivery.action === "deliver") {
      thread.mailMayHaveCome();
      if (thread.run === undefined) thread.wake(); // The run is elsewhere; make sure that a process carries it out.
    } else if (delivery.action === "persist") thread.tail.refresh();
  }
}

/** Whether a failed commit may be in the store anyway. */
export function mayHaveTakenEffect(error: unknown): boolean {
  return !AgentError.is(error) || error.code === "storage-failed";
}

/** The item of a message that opens its run at once: nothing is active or waiting, and its agent is here. */
export function opensAtOnce(
  thread: Thread,
  { actor }: ThreadState,
  admission: Admission,
): NewItem | undefined {
  const { request, delivery } = admission;
  if (delivery.action !== "wake" || request.messages) return undefined;
  const isIdle = !actor || (actor.runId === undefined && actor.mailboxCount === 0);
  return isIdle && thread.isFreeFor(request.agentId) ? itemOf(thread, admission, NOW) : undefined;
}

function post(threads: LocalThreads, thread: Thread, admission: Admission): Write[] {
  const { request } = admission;
  // A separate run comes after everything that waits; anything else joins its agent's run, or opens it.
  const due = request.messages ? CONTINUE : request.delivery.queued ? NEXT : NOW;
  const item = admission.item ?? itemOf(thread, admission, due);
  const posted = postItem(item, threads.limits.mailbox);
  // Of two that wake a thread at once, one is first, and the other joins its run.
  return item.opens && item.due === NOW ? [nothingDueNow(thread.threadId, item.agentId), ...posted] : posted;
}

function itemOf(
  { threadId, resourceId }: Thread,
  { request, delivery, runId, signal }: Admission,
  due: Due,
): NewItem {
  const { messages, agentId } = request;
  const opens = delivery.action !== "deliver";
  const options = opens ? storeOptions(request.streamOptions, request.durableContextKeys) : undefined;
  const bytes = itemBytes(messages ?? signal, options);
  return { threadId, resourceId, agentId, due, runId, opens, signal, messages, options, bytes };
}

/** A signal stored on an idle thread reaches its subscribers as a run of three chunks without a model. */
function pseudoRun(signal: CreatedAgentSignal, runId: string): Parameters<typeof insertEvents>[3] {
  const from = "AGENT" as const;
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const messages = { all: [], user: [], nonUser: [] };
  const payload = { stepResult: { reason: "stop" as const }, output: { usage }, metadata: {}, messages };
  return [
    { type: "start", runId, from, payload: {} },
    echoOf(signal, runId),
    { type: "finish", runId, from, payload },
  ];
}

/** For a thread without an active run. */
function moveSeq({ threadId, resourceId }: Thread, from: number, to: number): Write {
  return update(ACTORS, {
    where: { thread_id: threadId, resource_id: resourceId, run_id: null, next_seq: from },
    set: { next_seq: to },
    require: true,
  });
}

/** Returns the error, unless the conflict only means that the thread changed: the caller then retries. */
export function explainConflict(
  thread: Thread,
  request: SendRequest,
  error: AgentError,
  writes: readonly Write[],
): void {
  const { threadId, resourceId } = thread;
  const index = error.details?.["index"] as number;
  const failed = writes[index];
  if (failed?.table === THREADS) throw noThread(threadId, resourceId);
  if (failed?.op === "update" && "mailbox_count" in failed.where) {
    throw new AgentError(
      "mailbox-full",
      `The mailbox of thread "${threadId}" is full. Send again when its messages have been answered.`,
    );
  }
  const isKey = failed?.op === "insert" || (failed?.op === "require" && failed.table === MESSAGES);
  if (isKey && (failed.table === MAILBOX || failed.table === MESSAGES)) {
    throw new AgentError(
      "conflict",
      `There is already a message with the id "${request.signal.id}". Leave the id out, or use idempotencyKey to send again.`,
    );
  }
}

function onBranch({ signal, attributes }: SendRequest, { branch }: Delivery): CreatedAgentSignal {
  const extra = cleanAttributes(attributes?.[branch]);
  return extra ? signal.with({ attributes: { ...signal.attributes, ...extra } }) : signal;
}
