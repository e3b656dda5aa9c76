import {
  OM_CHUNKS,
  type OmAddress,
  type OmChunkRow,
  omKeyOf,
  omLogOf,
  type Storage,
} from "@selvedge/core/storage";

/** A piece of the log, or one that waits to join it. */
export interface OmChunkView {
  id: string;
  kind: "observe" | "reflect";
  state: "buffered" | "active";
  threadId: string;
  text: string;
  tokens: number;
  /** The messages it stands for. */
  firstMessageId?: string;
  lastMessageId?: string;
  messageCount: number;
  messageTokens: number;
  createdAt: Date;
  activatedAt?: Date;
}

/** Work that is not done. */
export interface OmJobView {
  id: string;
  /** `renew` observes messages again, because some that were observed are gone. */
  kind: "observe" | "reflect" | "renew";
  state: "waiting" | "running" | "failed";
  attempt: number;
  tokens: number;
  dueAt: Date;
  startedAt?: Date;
  error?: string;
}

/** The memory of a thread, for people who inspect it. */
export interface OmView {
  scope: "thread" | "resource";
  generation: number;
  windows: Record<"messages" | "observations", { tokens: number; threshold: number }>;
  /** Unobserved messages that the prompt has no room for. */
  leftOut: number;
  models: { observer: string; reflector: string };
  /** The log in its order, then what waits to join it. */
  chunks: OmChunkView[];
  jobs: OmJobView[];
}

/** What a reflection made of the log before it. */
export interface OmGeneration {
  /** The generation that ended. */
  generation: number;
  endedAt: Date;
  before: string;
  after: string;
  beforeTokens: number;
  afterTokens: number;
}

export async function viewChunks(
  storage: Storage,
  address: OmAddress,
  rows: readonly OmChunkRow[],
): Promise<OmChunkView[]> {
  const past = {
    thread_id: omKeyOf(address),
    state: "past",
    kind: "observe",
    source: address.threadId,
  } as const;
  const [[first], [last]] = await storage.selectAll([
    { table: OM_CHUNKS, where: past, orderBy: [{ column: "number" }], limit: 1 },
    { table: OM_CHUNKS, where: past, orderBy: [{ column: "number", direction: "desc" }], limit: 1 },
  ]);
  const merged = { first_id: first?.first_id ?? null, last_id: last?.last_id ?? null };
  const active = omLogOf(rows).map((row) => toView(row.kind === "reflect" ? { ...row, ...merged } : row));
  return [...active, ...rows.filter(({ state }) => state === "buffered").map(toView)];
}

function toView(row: OmChunkRow): OmChunkView {
  return {
    id: row.id,
    kind: row.kind,
    state: row.state === "active" ? "active" : "buffered",
    threadId: row.source,
    text: row.text,
    tokens: row.tokens,
    ...(row.first_id !== null && { firstMessageId: row.first_id }),
    ...(row.last_id !== null && { lastMessageId: row.last_id }),
    messageCount: row.message_count,
    messageTokens: row.message_tokens,
    createdAt: new Date(row.created_at),
    ...(row.activated_at !== null && { activatedAt: new Date(row.activated_at) }),
  };
}

/** The newest generations that a reflection ended, newest first. */
export async function viewGenerations(
  storage: Storage,
  address: OmAddress,
  limit: number,
): Promise<OmGeneration[]> {
  const rows = await storage.select({
    table: OM_CHUNKS,
    where: { thread_id: omKeyOf(address), state: { in: ["past", "active"] } },
    orderBy: [{ column: "number" }],
  });
  const reflections = rows.filter(({ kind }) => kind === "reflect");
  const generations = reflections.map((next, index): OmGeneration => {
    const previous = reflections[index - 1];
    const replaced = rows.filter(
      ({ kind, position }) =>
        kind === "observe" && (position ?? 0) > (previous?.upto ?? 0) && (position ?? 0) <= (next.upto ?? 0),
    );
    const before = previous ? [previous, ...replaced] : replaced;
    return {
      generation: next.generation - 1,
      endedAt: new Date(next.activated_at ?? next.created_at),
      before: before.map(({ text }) => text).join("\n\n"),
      after: next.text,
      beforeTokens: before.reduce((sum, { tokens }) => sum + tokens, 0),
      afterTokens: next.tokens,
    };
  });
  return generations.toReversed().slice(0, limit);
}
