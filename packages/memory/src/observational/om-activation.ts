import {
  MESSAGES,
  OM_CHUNKS,
  OM_RECORDS,
  type OmAddress,
  type OmChunkRow,
  omKeyOf,
  omPartOf,
  type OmRecordRow,
  type Storage,
  update,
  type Write,
} from "@selvedge/core/storage";
import type { DataChunk } from "@selvedge/protocol";
import { type EarlyActivation, earlyActivation, type EarlyActivationInput } from "./early-activation.ts";
import { mergeExtracted } from "./chunk-hints.ts";
import { omChunk, type OmOperation, shownConfig } from "./om-chunks.ts";
import type { Announcement } from "./om-commits.ts";
import { insertReflection } from "./om-job-rows.ts";
import type { OmView } from "./om-view.ts";
import {
  activatesReflection,
  activatesReflectionEarly,
  planActivation,
  planEarlyActivation,
} from "./plan-activation.ts";
import { planJobs } from "./plan-jobs.ts";

/** What a step knows about the pause before it and its model. */
export type EarlyFacts = Omit<EarlyActivationInput, "previousModel" | "lastActivityAt">;

export interface ActivationInput {
  view: OmView;
  storage: Storage;
  early: EarlyFacts;
  /** Activate everything that is ready. */
  isForced: boolean;
  /** The least number of newest messages that stay in the prompt. */
  lastMessages: number;
  agentId: string;
  now: number;
}

/** Moves buffered chunks into the log, and their messages out of the prompt. `undefined` if none are due. */
export async function activateObservations(
  input: ActivationInput,
): Promise<(Announcement & { reflects: boolean }) | undefined> {
  const { view, storage, agentId, now } = input;
  const { buffered, limits, record, part, address } = view;
  if (buffered.length === 0) return undefined;
  const sums = {
    pendingTokens: part.pending_tokens,
    chunks: buffered.map(({ message_tokens }) => message_tokens),
  };
  const usual = planActivation(sums, limits);
  const early = usual > 0 ? undefined : earlyFor("observation", input);
  const planned = usual > 0 ? usual : early ? planEarlyActivation(sums, limits) : 0;
  const count = input.isForced ? buffered.length : planned;
  if (count === 0) return undefined;
  const taken = buffered.slice(0, count);
  const last = taken.at(-1)!;
  const window = await storage.select({
    table: MESSAGES,
    where: { thread_id: address.threadId, seq: { gt: part.shown_seq } },
    orderBy: [{ column: "seq" }],
    columns: ["id", "seq", "role", "metadata"],
  });
  const version = record.version + 1;
  const observed = taken.reduce((sum, chunk) => sum + chunk.tokens, 0);
  const removed = taken.reduce((sum, chunk) => sum + chunk.message_tokens, 0);
  const removedCount = taken.reduce((sum, chunk) => sum + chunk.message_count, 0);
  const shown = shownAfter(window, last.last_seq, input.lastMessages, part.shown_seq);
  const isPast = last.last_seq >= shown;
  const partSet = { cursor_seq: last.last_seq, shown_seq: shown, updated_at: now };
  // Added, not set: messages may be stored before this is.
  const { omitted_count, omitted_tokens } = part;
  const change = {
    pending_tokens: -removed,
    pending_count: -removedCount,
    planned_tokens: -removed,
    omitted_count: -(isPast ? omitted_count : Math.min(omitted_count, removedCount)),
    omitted_tokens: -(isPast ? omitted_tokens : Math.min(omitted_tokens, removed)),
  };
  const logTokens = record.log_tokens + observed;
  const hints = { ...(record.hints as object), ...hintsFor(address, record, taken) };
  const recordSet = { version, log_tokens: logTokens, hints, updated_at: now };
  const key = omKeyOf(address);
  const ids = taken.map(({ id }) => id);
  const reflect = dueReflection(view, logTokens);
  const writes: Write[] = [
    update(OM_RECORDS, {
      where: { thread_id: key, source: "", version: record.version },
      set: recordSet,
      require: true,
    }),
    update(OM_RECORDS, {
      where: { thread_id: key, source: omPartOf(address) },
      set: partSet,
      increment: change,
    }),
    update(OM_CHUNKS, {
      where: { thread_id: key, id: { in: ids }, state: "buffered" },
      set: { state: "active", position: version, activated_at: now },
      require: true,
    }),
    ...(reflect ? [insertReflection({ address, agentId, now, ...reflect, upto: version })] : []),
  ];
  return {
    chunks: taken.map((chunk) =>
      activationChunk("observation", chunk, input, early, {
        tokensActivated: chunk.message_tokens,
        messagesActivated: chunk.message_count,
        generationCount: record.generation,
      }),
    ),
    writes,
    change: (row) => ({ ...partSet, ...added(row, change) }),
    apply: () => {
      view.record = { ...view.record, ...recordSet };
      view.chunks = view.chunks.map((chunk) =>
        ids.includes(chunk.id) ? { ...chunk, state: "active", position: version } : chunk,
      );
    },
    reflects: reflect !== undefined,
  };
}

/** Replaces the chunks that a reflection stands for. `undefined` if none is due. */
export function activateReflection(input: ActivationInput): Announcement | undefined {
  const { view, now } = input;
  const { reflection, limits, record, address } = view;
  if (!reflection) return undefined;
  const sums = {
    logTokens: record.log_tokens,
    inputTokens: reflection.input_tokens,
    reflectionTokens: reflection.tokens,
  };
  const isDue = input.isForced || activatesReflection(sums, limits);
  const early = isDue ? undefined : earlyFor("reflection", input);
  if (!isDue && !(early && activatesReflectionEarly(sums, limits))) return undefined;
  const version = record.version + 1;
  const key = omKeyOf(address);
  const upto = reflection.upto ?? 0;
  const set = {
    version,
    generation: record.generation + 1,
    log_tokens: Math.max(0, record.log_tokens - reflection.input_tokens + reflection.tokens),
    reflected_tokens: 0,
    hints: { ...(record.hints as object), ...mergeExtracted(record.hints, [reflection]) },
    updated_at: now,
  };
  const writes: Write[] = [
    update(OM_RECORDS, {
      where: { thread_id: key, source: "", version: record.version, generation: record.generation },
      set,
      require: true,
    }),
    update(OM_CHUNKS, {
      where: { thread_id: key, state: "active", position: { lte: upto } },
      set: { state: "past" },
    }),
    update(OM_CHUNKS, {
      where: { thread_id: key, id: reflection.id, state: "buffered" },
      set: { state: "active", position: version, activated_at: now },
      require: true,
    }),
  ];
  return {
    chunks: [
      activationChunk("reflection", reflection, input, early, {
        tokensActivated: reflection.input_tokens,
        messagesActivated: 0,
        generationCount: set.generation,
      }),
    ],
    writes,
    change: () => (address.scope === "thread" ? set : {}),
    apply: () => {
      view.record = { ...view.record, ...set };
      view.chunks = view.chunks.flatMap((one) => {
        if (one.id === reflection.id) return [{ ...one, state: "active" as const, position: version }];
        return one.state === "active" && (one.position ?? 0) <= upto ? [] : [one];
      });
    },
  };
}

function earlyFor(
  role: OmOperation,
  { view: { config, part }, early }: ActivationInput,
): EarlyActivation | undefined {
  return earlyActivation(config[role], {
    ...early,
    lastActivityAt: part.last_active_at ?? undefined,
    previousModel: part.last_model ?? undefined,
  });
}

/** The reflection that becomes due when the log has this size. */
function dueReflection(
  { limits, record, reflection, jobs }: OmView,
  logTokens: number,
): { tokens: number; waited: boolean } | undefined {
  const sums = {
    pendingTokens: 0,
    bufferedMessageTokens: 0,
    jobMessageTokens: 0,
    logTokens,
    hasReflection: reflection !== undefined || jobs.some(({ kind }) => kind === "reflect"),
    triedLogTokens: record.reflected_tokens,
  };
  if (!planJobs(sums, limits).some(({ kind }) => kind === "reflect")) return undefined;
  return { tokens: logTokens, waited: limits.bufferTokens === undefined };
}

function activationChunk(
  operationType: OmOperation,
  chunk: OmChunkRow,
  { view, now }: ActivationInput,
  early: EarlyActivation | undefined,
  facts: { tokensActivated: number; messagesActivated: number; generationCount: number },
): DataChunk {
  return omChunk("activation", chunk.cycle_id, {
    cycleId: chunk.cycle_id,
    operationType,
    activatedAt: new Date(now).toISOString(),
    chunksActivated: 1,
    observationTokens: chunk.tokens,
    ...facts,
    observations: chunk.text,
    triggeredBy: early?.triggeredBy ?? "threshold",
    ...early,
    recordId: view.record.id,
    threadId: view.address.threadId,
    config: shownConfig(view.config, view.limits),
  });
}

/** Where the prompt starts after an activation: before the newest messages, and before the one to be answered. */
function shownAfter(
  window: readonly { seq: number; role: string; metadata: unknown }[],
  cursor: number,
  lastMessages: number,
  before: number,
): number {
  const kept = window.at(-Math.max(1, lastMessages)) ?? window[0];
  const person = window.findLast(({ role, metadata }) => {
    const signal = (metadata as { signal?: { type?: unknown } } | null)?.signal;
    return role === "user" || (role === "signal" && signal?.type === "user");
  });
  const first = Math.min(kept?.seq ?? Infinity, person?.seq ?? Infinity);
  return Math.max(before, Math.min(cursor, first - 1));
}

/** Task and suggestion belong to a thread; extracted values to the record. */
function hintsFor(
  { threadId, scope }: OmAddress,
  record: OmRecordRow,
  taken: readonly OmChunkRow[],
): Record<string, unknown> {
  const newest = Object.assign({}, ...taken.map(({ hints }) => hints)) as Record<string, unknown>;
  const { currentTask, suggestedResponse } = newest;
  const own = { currentTask: currentTask ?? null, suggestedResponse: suggestedResponse ?? null };
  return {
    ...(scope === "thread" ? own : { [`thread:${threadId}`]: own }),
    ...mergeExtracted(record.hints, taken),
  };
}

/** Columns with something added to them. */
export function added<Column extends keyof OmRecordRow>(
  row: OmRecordRow,
  change: Record<Column, number>,
): Record<Column, number> {
  const entries = Object.entries(change).map(([column, by]) => [
    column,
    (row[column as Column] as number) + (by as number),
  ]);
  return Object.fromEntries(entries) as Record<Column, number>;
}
