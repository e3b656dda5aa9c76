import { AgentError } from "../../errors.ts";
import {
  type Admission,
  type AdmittedSignal,
  commitAdmissions,
  decide,
  deliveryWrites,
  explainConflict,
  guards,
  mayHaveTakenEffect,
  opensAtOnce,
  readState,
  type SendRequest,
  toAdmitted,
} from "./admission.ts";
import type { Write } from "../../storage/storage.ts";
import { insertSend, readSend } from "./idempotency.ts";
import type { Thread } from "../hold/thread.ts";
import type { LocalThreads } from "../hold/local-threads.ts";

/** A send that waits to be admitted. */
export interface SendTurn {
  request: SendRequest;
  resolve(admitted: AdmittedSignal): void;
  reject(error: unknown): void;
}

const ATTEMPTS = 50;
const MAX_TOGETHER = 64;
const SMALL_TEXT = 16_384;

/**
 * Admits a signal: reads the thread's state, decides, and writes the decision on condition that the state is unchanged.
 * When this resolves, the signal is stored, or was meant not to be.
 */
export function send(threads: LocalThreads, thread: Thread, request: SendRequest): Promise<AdmittedSignal> {
  const { promise, resolve, reject } = Promise.withResolvers<AdmittedSignal>();
  thread.line.together({ request, resolve, reject }, (turns) => admitAll(threads, thread, turns));
  return promise;
}

/** In order, and in one commit if their outcomes do not depend on each other. */
async function admitAll(threads: LocalThreads, thread: Thread, turns: SendTurn[]): Promise<void> {
  let alone = 0;
  while (turns.length > 0) {
    const group = turns.splice(0, alone > 0 ? 1 : Math.max(1, plainOnes(turns)));
    if (group.length === 1) {
      alone--;
      await admitOne(threads, thread, group[0] as SendTurn);
      continue;
    }
    const admitted = await admitGroup(threads, thread, group);
    const rest = group.slice(admitted.length);
    // The first of the rest changes the thread for the others; or the commit failed, and each learns its own reason.
    alone = admitted.length > 0 ? Math.min(1, rest.length) : rest.length;
    turns.unshift(...rest);
  }
}

/** How many of the next sends are small, from one agent, and need no separate decision. */
function plainOnes(turns: readonly SendTurn[]): number {
  const index = turns.findIndex(
    ({ request: { signal, agentId, idempotencyKey, alongside } }) =>
      agentId !== turns[0]?.request.agentId ||
      idempotencyKey !== undefined ||
      alongside ||
      typeof signal.contents !== "string" ||
      signal.contents.length > SMALL_TEXT,
  );
  return Math.min(MAX_TOGETHER, index < 0 ? turns.length : index);
}

async function admitOne(threads: LocalThreads, thread: Thread, turn: SendTurn): Promise<void> {
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const admitted = await tryAdmit(threads, thread, turn.request, attempt === 0);
      if (admitted) return turn.resolve(admitted);
    }
    throw new AgentError(
      "thread-busy",
      `Thread "${thread.threadId}" changed ${ATTEMPTS} times while a message was being accepted. Try again.`,
    );
  } catch (error) {
    turn.reject(error);
  }
}

/** Admits the first of a group, as many as go together. Returns those it resolved; none if they must go one by one. */
async function admitGroup(threads: LocalThreads, thread: Thread, group: SendTurn[]): Promise<SendTurn[]> {
  const admissions: Admission[] = [];
  let together: SendTurn[] = [];
  try {
    const state = await readState(thread, (group[0] as SendTurn).request.agentId);
    for (const { request } of group) {
      const admission = decide(state, request);
      // It opens a run, which the sends behind it join.
      if (isFirst(admission)) break;
      admissions.push(admission);
    }
    if (admissions.length === 0) return [];
    const writes = [...guards(thread, state), ...deliveryWrites(threads, thread, state, admissions)];
    together = group.slice(0, admissions.length);
    await commitAdmissions(threads, thread, admissions, writes);
  } catch (error) {
    if (!mayHaveTakenEffect(error)) return [];
    for (const turn of together) turn.reject(error);
    return together;
  }
  for (const [index, turn] of together.entries()) turn.resolve(toAdmitted(admissions[index] as Admission));
  return together;
}

async function tryAdmit(
  threads: LocalThreads,
  thread: Thread,
  request: SendRequest,
  isFirstTry: boolean,
): Promise<AdmittedSignal | undefined> {
  const { idempotencyKey } = request;
  const state = await readState(thread, request.agentId);
  const earlier = idempotencyKey === undefined ? undefined : await readSend(thread, idempotencyKey);
  if (earlier) return earlier;
  const decided = decide(state, request);
  const { delivery, runId } = decided;
  if (delivery.action === "discard") return toAdmitted(decided);
  const alongside = await request.alongside?.(delivery, decided.signal);
  const admission: Admission = { ...decided, ...(alongside?.signal && { signal: alongside.signal }) };
  const item = isFirstTry ? opensAtOnce(thread, state, admission) : undefined;
  admission.item = item;
  const delivered = deliveryWrites(threads, thread, state, [admission]);
  const key =
    idempotencyKey === undefined
      ? []
      : [insertSend(thread, idempotencyKey, admission.signal, runId, delivery.action)];
  const writes = [...guards(thread, state), ...key, ...delivered, ...(alongside?.writes ?? [])];
  const commit = item && ((all: readonly Write[]) => thread.openWith(state.actor, item, all));
  try {
    await commitAdmissions(threads, thread, [admission], writes, commit);
  } catch (error) {
    if (!AgentError.is(error, "conflict")) throw error;
    explainConflict(thread, request, error, writes);
    return undefined;
  }
  return toAdmitted(admission);
}

/** A message on an idle thread: it opens a run, and later ones join or follow that. */
function isFirst({ delivery: { action }, request }: Admission): boolean {
  return action === "wake" || (action === "queue" && !request.delivery.queued);
}
