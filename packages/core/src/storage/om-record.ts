import { OM_CHUNKS, OM_JOBS, OM_RECORDS, type OmChunkRow, type OmRecordRow } from "./om-tables.ts";
import type { Storage } from "./storage.ts";
import { MESSAGES } from "./tables.ts";

export interface BufferedObservationChunk {
  id: string;
  cycleId: string;
  observations: string;
  tokenCount: number;
  messageIds: string[];
  messageTokens: number;
  lastObservedAt: Date;
  createdAt: Date;
  suggestedContinuation?: string;
  currentTask?: string;
  threadTitle?: string;
  extractedValues?: Record<string, unknown>;
  extractionFailures?: { slug: string; error: string }[];
}

/** What is known of a log, assembled from its rows. */
export interface ObservationalMemoryRecord {
  id: string;
  scope: "thread" | "resource";
  /** `null` in resource scope. */
  threadId: string | null;
  resourceId: string;
  createdAt: Date;
  updatedAt: Date;
  lastObservedAt?: Date;
  originType: "initial" | "reflection";
  generationCount: number;
  activeObservations: string;
  bufferedObservationChunks?: BufferedObservationChunk[];
  bufferedReflection?: string;
  bufferedReflectionTokens?: number;
  bufferedReflectionInputTokens?: number;
  reflectedObservationLineCount?: number;
  observedMessageIds?: string[];
  observedTimezone?: string;
  totalTokensObserved: number;
  observationTokenCount: number;
  pendingMessageTokens: number;
  isObserving: boolean;
  isReflecting: boolean;
  isBufferingObservation: boolean;
  isBufferingReflection: boolean;
  lastBufferedAtTokens: number;
  lastBufferedAtTime: Date | null;
  config: Record<string, unknown>;
  metadata?: Record<string, unknown>;
}

export interface OmHistoryOptions {
  from?: Date | undefined;
  to?: Date | undefined;
  offset?: number | undefined;
}

/** What an observer said beside its notes. */
export interface OmHints {
  currentTask?: string;
  suggestedResponse?: string;
  threadTitle?: string;
  extracted?: Record<string, unknown>;
  /** Where extracted values are in the record's metadata, if not at `extracted.<slug>`; `false` for nowhere. */
  places?: Record<string, string | false>;
  extractionFailures?: { slug: string; error: string }[];
}

/** The chunks of the log in order: the reflection it begins with, then what was activated since. */
export function logOf(chunks: readonly OmChunkRow[]): OmChunkRow[] {
  return chunks
    .filter((chunk) => chunk.state === "active")
    .toSorted(
      (a, b) =>
        Number(b.kind === "reflect") - Number(a.kind === "reflect") ||
        (a.position ?? 0) - (b.position ?? 0) ||
        a.number - b.number,
    );
}

export async function toOmRecord(
  storage: Storage,
  record: OmRecordRow,
  threadId: string | null,
  isLive: (owner: string) => boolean,
): Promise<ObservationalMemoryRecord> {
  const key = { thread_id: record.thread_id };
  const [chunks, jobs, parts] = await storage.selectAll([
    {
      table: OM_CHUNKS,
      where: { ...key, state: { in: ["active", "buffered"] } },
      orderBy: [{ column: "number" }],
    },
    { table: OM_JOBS, where: { ...key, state: "running" } },
    { table: OM_RECORDS, where: { ...key, ...(record.scope === "resource" && { source: { ne: "" } }) } },
  ]);
  const log = logOf(chunks);
  const buffered = chunks.filter((chunk) => chunk.state === "buffered" && chunk.kind === "observe");
  const reflection = chunks.findLast((chunk) => chunk.state === "buffered" && chunk.kind === "reflect");
  const live = jobs.filter(({ owner }) => owner !== null && isLive(owner));
  const works = (kind: string, waited: number): boolean =>
    live.some((job) => job.kind === kind && job.waited === waited);
  const own = parts.filter(({ source }) => record.scope === "thread" || source === threadId);
  const shown = own.length > 0 ? own : parts;
  const observedAt = Math.max(0, ...parts.map((part) => part.last_observed_at ?? 0));
  const newest = buffered.at(-1);
  const messageIds = await idsOf(storage, buffered);
  return {
    ...base(record, threadId),
    ...(observedAt > 0 && { lastObservedAt: new Date(observedAt) }),
    activeObservations: join(log),
    observationTokenCount: record.log_tokens,
    ...(buffered.length > 0 && {
      bufferedObservationChunks: buffered.map((chunk) => toBuffered(chunk, messageIds.get(chunk.id) ?? [])),
    }),
    ...(reflection && {
      bufferedReflection: reflection.text,
      bufferedReflectionTokens: reflection.tokens,
      bufferedReflectionInputTokens: reflection.input_tokens,
    }),
    observedTimezone: "UTC",
    pendingMessageTokens: shown.reduce((sum, part) => sum + part.pending_tokens, 0),
    isObserving: works("observe", 1),
    isReflecting: works("reflect", 1),
    isBufferingObservation: works("observe", 0),
    isBufferingReflection: works("reflect", 0),
    lastBufferedAtTokens: buffered.reduce((sum, chunk) => sum + chunk.message_tokens, 0),
    lastBufferedAtTime: newest ? new Date(newest.created_at) : null,
  };
}

/** The generations before the present one are the reflections that were replaced, each with what stood behind it. */
export async function historyOf(
  storage: Storage,
  record: OmRecordRow,
  current: ObservationalMemoryRecord,
  limit: number | undefined,
  { from, to, offset = 0 }: OmHistoryOptions,
): Promise<ObservationalMemoryRecord[]> {
  const past = await storage.select({
    table: OM_CHUNKS,
    where: { thread_id: record.thread_id, state: { in: ["past", "active"] } },
    orderBy: [{ column: "number" }],
  });
  const reflections = past.filter((chunk) => chunk.kind === "reflect" && chunk.position !== null);
  const generations = reflections.map((next, index): ObservationalMemoryRecord => {
    const first = reflections[index - 1];
    const log = [
      ...(first ? [first] : []),
      ...past.filter(
        (chunk) =>
          chunk.kind === "observe" &&
          (chunk.position ?? 0) > (first?.upto ?? 0) &&
          (chunk.position ?? 0) < next.position!,
      ),
    ];
    return {
      ...base(record, current.threadId),
      id: `${record.id}:${next.generation - 1}`,
      originType: first ? "reflection" : "initial",
      generationCount: next.generation - 1,
      createdAt: new Date(first?.activated_at ?? record.created_at),
      updatedAt: new Date(next.activated_at ?? next.created_at),
      activeObservations: join(log),
      observationTokenCount: log.reduce((sum, chunk) => sum + chunk.tokens, 0),
    };
  });
  const all = [current, ...generations.toReversed()].filter(
    ({ createdAt }) => (!from || createdAt >= from) && (!to || createdAt <= to),
  );
  return all.slice(offset, limit === undefined ? undefined : offset + limit);
}

function base(record: OmRecordRow, threadId: string | null): ObservationalMemoryRecord {
  return {
    id: record.id,
    scope: record.scope,
    threadId: record.scope === "resource" ? null : (threadId ?? record.thread_id),
    resourceId: record.resource_id,
    createdAt: new Date(record.created_at),
    updatedAt: new Date(record.updated_at),
    originType: record.generation > 0 ? "reflection" : "initial",
    generationCount: record.generation,
    activeObservations: "",
    totalTokensObserved: record.total_observed,
    observationTokenCount: 0,
    pendingMessageTokens: 0,
    isObserving: false,
    isReflecting: false,
    isBufferingObservation: false,
    isBufferingReflection: false,
    lastBufferedAtTokens: 0,
    lastBufferedAtTime: null,
    config: (record.config ?? {}) as Record<string, unknown>,
    metadata: { usage: record.usage ?? {}, ...extractedIn((record.hints ?? {}) as OmHints) },
  };
}

/** Extracted values, each at its place. */
function extractedIn({ extracted = {}, places = {} }: OmHints): Record<string, unknown> {
  const metadata: Record<string, unknown> = {};
  for (const [slug, value] of Object.entries(extracted)) {
    const path = places[slug] ?? `extracted.${slug}`;
    if (path === false) continue;
    const keys = path.split(".");
    const last = keys.pop()!;
    let at = metadata;
    for (const key of keys) at = (Object.hasOwn(at, key) ? at[key] : (at[key] = {})) as typeof metadata;
    if (typeof at === "object" && at !== null) at[last] = value;
  }
  return metadata;
}

async function idsOf(storage: Storage, chunks: readonly OmChunkRow[]): Promise<Map<string, string[]>> {
  const columns = ["id"] as const;
  const queries = chunks.map(({ source, first_seq, last_seq }) => ({
    table: MESSAGES,
    where: { thread_id: source, seq: { gte: first_seq, lte: last_seq } },
    orderBy: [{ column: "seq" as const }],
    columns,
  }));
  const found = queries.length === 0 ? [] : await storage.selectAll(queries);
  return new Map(chunks.map((chunk, index) => [chunk.id, (found[index] ?? []).map(({ id }) => id)]));
}

function toBuffered(chunk: OmChunkRow, messageIds: string[]): BufferedObservationChunk {
  const hints = (chunk.hints ?? {}) as OmHints;
  return {
    id: chunk.id,
    cycleId: chunk.cycle_id,
    observations: chunk.text,
    tokenCount: chunk.tokens,
    messageIds,
    messageTokens: chunk.message_tokens,
    lastObservedAt: new Date(chunk.created_at),
    createdAt: new Date(chunk.created_at),
    ...(hints.suggestedResponse !== undefined && { suggestedContinuation: hints.suggestedResponse }),
    ...(hints.currentTask !== undefined && { currentTask: hints.currentTask }),
    ...(hints.threadTitle !== undefined && { threadTitle: hints.threadTitle }),
    ...(hints.extracted && { extractedValues: hints.extracted }),
    ...(hints.extractionFailures && { extractionFailures: hints.extractionFailures }),
  };
}

function join(chunks: readonly OmChunkRow[]): string {
  return chunks
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}
