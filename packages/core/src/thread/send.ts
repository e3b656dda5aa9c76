import type { JSONValue } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { AgentExecutionOptions } from "../run/run-options.ts";
import {
  cleanAttributes,
  type CreatedAgentSignal,
  reviveSignal,
  type SignalAttributes,
} from "../signal/signal.ts";
import { insertMessage, insertThread, touchThread } from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import { MESSAGES, THREADS } from "../storage/tables.ts";
import { ACTORS, MAILBOX, SENDS } from "../storage/thread-tables.ts";
import { type Actor, checkOwnership, insertActor, readActor, requireRun } from "./actor.ts";
import { decideDelivery, type Delivery, type DeliveryOptions } from "./delivery.ts";
import { insertEvents } from "./event-log.ts";
import { type Letter, NEXT, noLetterNow, NOW, postLetter, readLetters } from "./mailbox.ts";
import { storeOptions } from "./stored-options.ts";
import type { Thread } from "./thread.ts";
import type { ThreadRuntime } from "./thread-runtime.ts";

/** What became of a send, once it is durable. */
export interface Admitted {
  action: Delivery["action"];
  runId: string | undefined;
  /** The same key was sent before: this is what was answered then. */
  duplicate?: true;
}

export interface SendRequest {
  signal: CreatedAgentSignal;
  agentId: string;
  delivery: DeliveryOptions;
  /** The run it opens, if it opens one. */
  newRunId: string;
  streamOptions: AgentExecutionOptions | undefined;
  attributes: { active: SignalAttributes | undefined; idle: SignalAttributes | undefined };
  idempotencyKey: string | undefined;
  /** Writes that count only if the signal is accepted, such as the new state of a lane. May still change the signal. */
  alongside?: (delivery: Delivery) => Promise<Write[]> | Write[];
}

const ATTEMPTS = 50;

/**
 * Admits a signal: reads the thread's state, decides, and writes the decision on the condition that the state is still
 * the same. When this resolves the signal is durable, or was meant not to be.
 */
export function send(runtime: ThreadRuntime, thread: Thread, request: SendRequest): Promise<Admitted> {
  return thread.inOrder(async () => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const admitted = await tryAdmit(runtime, thread, request);
      if (admitted) return admitted;
    }
    throw new AgentError(
      "thread-busy",
      `Thread "${thread.threadId}" changed ${ATTEMPTS} times while a message was admitted. Try again.`,
    );
  });
}

async function tryAdmit(
  runtime: ThreadRuntime,
  thread: Thread,
  request: SendRequest,
): Promise<Admitted | undefined> {
  const { storage, threadId, resourceId } = thread;
  const { signal, idempotencyKey } = request;
  const actor = await readActor(storage, threadId);
  checkOwnership(actor, threadId, resourceId);
  const earlier = idempotencyKey === undefined ? undefined : await readSend(thread, idempotencyKey);
  if (earlier) return adopt(request, earlier);
  const reserved = await readReserved(thread, actor);
  const delivery = decideDelivery(
    { activeRunId: actor?.runId ?? reserved?.runId, activeAgentId: actor?.agentId ?? reserved?.agentId },
    request.agentId,
    request.delivery,
  );
  const attributes = mergeAttributes(signal, request.attributes[delivery.branch]);
  const runId =
    delivery.action === "deliver"
      ? delivery.runId
      : ("runId" in delivery && delivery.runId) || request.newRunId;
  if (delivery.action === "discard") return { action: "discard", runId };
  const before = signal.attributes;
  signal.attributes = attributes;
  const alongside = (await request.alongside?.(delivery)) ?? [];
  const writes = [
    ...guards(thread, actor, reserved),
    ...(idempotencyKey === undefined
      ? []
      : [insertSend(thread, idempotencyKey, signal, runId, delivery.action)]),
    ...deliveryWrites(runtime, thread, actor, request, delivery, runId),
    ...alongside,
  ];
  try {
    const { auto } = await storage.commit(writes);
    const letter = writes.findIndex((write) => write.op === "insert" && write.table === MAILBOX);
    thread.lastLetter = Math.max(thread.lastLetter, auto[letter] ?? 0);
  } catch (error) {
    signal.attributes = before;
    if (!AgentError.is(error, "conflict")) {
      // The store may have done it all the same; then somebody has to see to it.
      thread.pump();
      throw error;
    }
    await explainConflict(thread, request, error, writes);
    return undefined;
  }
  if (delivery.action === "wake" || delivery.action === "queue") {
    if (request.streamOptions) runtime.keepOptions(signal.id, request.streamOptions);
    thread.pump();
  } else if (delivery.action === "deliver") {
    thread.mayHaveLetters = true;
    if (thread.run === undefined) thread.pump(); // The run is elsewhere; see to it that somebody carries it out.
  } else thread.tail.refresh();
  return { action: delivery.action, runId };
}

/** The state the decision was made on. */
function guards(thread: Thread, actor: Actor | undefined, reserved: Letter | undefined): Write[] {
  const { threadId, resourceId } = thread;
  return [
    {
      op: "require",
      table: THREADS,
      where: { id: threadId, resource_id: { ne: resourceId } },
      exists: false,
    },
    ...(actor ? [] : [insertActor(threadId, resourceId)]),
    requireRun(threadId, actor?.runId),
    ...(reserved
      ? [{ op: "require" as const, table: MAILBOX, where: { id: reserved.signal.id }, exists: true }]
      : []),
  ];
}

/** On a thread with no run, the letter that is about to open one: what comes now joins that run. */
async function readReserved(thread: Thread, actor: Actor | undefined): Promise<Letter | undefined> {
  if (!actor || actor.runId !== undefined || actor.mailboxCount === 0) return undefined;
  const [letter] = await readLetters(thread.storage, thread.threadId, { due: NOW, limit: 1 });
  return letter?.opens ? letter : undefined;
}

function deliveryWrites(
  runtime: ThreadRuntime,
  thread: Thread,
  actor: Actor | undefined,
  request: SendRequest,
  delivery: Delivery,
  runId: string,
): Write[] {
  const { threadId, resourceId, system } = thread;
  const { signal, agentId } = request;
  if (delivery.action === "persist") {
    const now = new Date(system.now());
    const stored = [
      insertThread({ id: threadId, resourceId, createdAt: now, updatedAt: now }),
      insertMessage(signal.toDBMessage({ threadId, resourceId })),
      touchThread(threadId, now.getTime()),
    ];
    // Nothing comes between the events of a run, be it another agent's.
    const idle = delivery.branch === "idle" && actor?.runId === undefined;
    return idle ? [...stored, ...pseudoRun(thread, actor, signal, runId)] : stored;
  }
  // A run of its own comes after everything that waits; anything else joins what runs, or opens it.
  const due = delivery.action === "queue" || request.delivery.queued ? NEXT : NOW;
  const opens = delivery.action !== "deliver";
  const options = opens ? storeOptions(request.streamOptions) : undefined;
  const bytes = Buffer.byteLength(JSON.stringify(signal));
  const letter = { threadId, resourceId, agentId, due, runId, opens, signal, options, bytes } as const;
  const post = postLetter(letter, runtime.limits.mailbox);
  // Of two that wake a thread at once one is first, and the other joins its run.
  return opens && due === NOW ? [noLetterNow(threadId), ...post] : post;
}

/** A signal stored on an idle thread reaches its subscribers as a run of three chunks that no model took part in. */
function pseudoRun(
  thread: Thread,
  actor: Actor | undefined,
  signal: CreatedAgentSignal,
  runId: string,
): Write[] {
  const from = "AGENT" as const;
  const first = actor?.nextSeq ?? 1;
  const zero = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const chunks = [
    { type: "start" as const, runId, from, payload: {} },
    { ...signal.toDataPart(), runId, from },
    {
      type: "finish" as const,
      runId,
      from,
      payload: {
        stepResult: { reason: "stop" as const },
        output: { usage: zero },
        metadata: {},
        messages: { all: [], user: [], nonUser: [] },
      },
    },
  ];
  return [
    insertEvents(thread.threadId, runId, first, chunks, thread.system.now()),
    {
      op: "update",
      table: ACTORS,
      where: { thread_id: thread.threadId, next_seq: first },
      set: { next_seq: first + chunks.length },
      require: true,
    },
  ];
}

/** Says what is wrong, if the conflict is not just that the thread moved on: then the caller tries again. */
async function explainConflict(
  thread: Thread,
  request: SendRequest,
  error: AgentError,
  writes: readonly Write[],
): Promise<void> {
  const { threadId, resourceId } = thread;
  const index = error.details?.["index"] as number;
  if (index === 0)
    throw new AgentError("not-found", `There is no thread "${threadId}" for resource "${resourceId}".`);
  const failed = writes[index];
  if (failed?.op === "update" && "mailbox_count" in failed.where) {
    throw new AgentError(
      "mailbox-full",
      `The mailbox of thread "${threadId}" is full. Send again when its messages have been answered.`,
    );
  }
  if (failed?.op === "insert" && (failed.table === MAILBOX || failed.table === MESSAGES)) {
    throw new AgentError(
      "conflict",
      `There is already a message with the id "${request.signal.id}". Leave the id out, or use idempotencyKey to send again.`,
    );
  }
}

function mergeAttributes(
  signal: CreatedAgentSignal,
  branch: SignalAttributes | undefined,
): Record<string, JSONValue> | undefined {
  const extra = cleanAttributes(branch);
  return extra || signal.attributes ? { ...signal.attributes, ...extra } : undefined;
}

function insertSend(
  thread: Thread,
  key: string,
  signal: CreatedAgentSignal,
  runId: string,
  action: string,
): Write {
  return {
    op: "insert",
    table: SENDS,
    row: {
      thread_id: thread.threadId,
      key,
      signal: signal.toJSON() as never,
      run_id: runId,
      action,
      created_at: Math.trunc(thread.system.now()),
    },
  };
}

async function readSend(
  thread: Thread,
  key: string,
): Promise<{ signal: CreatedAgentSignal; runId: string; action: Delivery["action"] } | undefined> {
  const [row] = await thread.storage.select({
    table: SENDS,
    where: { thread_id: thread.threadId, key },
    limit: 1,
  });
  if (!row) return undefined;
  return {
    signal: reviveSignal(row["signal"] as never),
    runId: row["run_id"] as string,
    action: row["action"] as Delivery["action"],
  };
}

/** The same send again: the caller's signal becomes the one that was accepted. */
function adopt(
  request: SendRequest,
  earlier: { signal: CreatedAgentSignal; runId: string; action: Delivery["action"] },
): Admitted {
  Object.assign(request.signal, earlier.signal);
  return { action: earlier.action, runId: earlier.runId, duplicate: true };
}
