import type { StoredMessage } from "@selvedge/protocol";
import { escapeName, escapeNotes } from "./escape-notes.ts";
import type { RetrievalConfig } from "./om-config.ts";
import { CONTINUATION, LOG_EXPLAINED, RECALL_EXPLAINED } from "./om-texts.ts";

/** One active chunk of the log. */
export interface LogChunk {
  text: string;
  /** The first and the last message it was made from. */
  firstId?: string | undefined;
  lastId?: string | undefined;
  /** Resource scope: the thread it is about. */
  threadId?: string | undefined;
}

export interface LogView {
  chunks: readonly LogChunk[];
  retrieval?: RetrievalConfig | undefined;
  currentTask?: string | undefined;
  suggestedResponse?: string | undefined;
  /** By slug. */
  extracted?: Readonly<Record<string, unknown>> | undefined;
}

/**
 * The log as system messages: the fixed text, each chunk separately, then what changes most. A new chunk changes
 * nothing before it. Without chunks there are none.
 */
export function renderLog({ chunks, retrieval, ...last }: LogView): string[] {
  if (chunks.length === 0) return [];
  const tail = renderTail(last);
  return [
    LOG_EXPLAINED,
    ...(retrieval
      ? [[RECALL_EXPLAINED, ...(retrieval.instructions ? [retrieval.instructions] : [])].join("\n\n")]
      : []),
    ...chunks.map((chunk) => renderChunk(chunk, retrieval !== undefined)),
    ...(tail === "" ? [] : [tail]),
  ];
}

/** The log as one text, as in records. */
export function joinLog(chunks: readonly Pick<LogChunk, "text">[]): string {
  return chunks.map(({ text }) => text).join("\n\n");
}

export const CONTINUATION_ID = "om-continuation";

/** The reminder between the log and the messages. Not stored. */
export function continuationMessage(address: { threadId?: string; resourceId?: string } = {}): StoredMessage {
  const signal = { type: "reactive", tagName: "system-reminder" };
  return {
    id: CONTINUATION_ID,
    role: "signal",
    type: "system-reminder",
    createdAt: new Date(0),
    ...address,
    content: { format: 2, parts: [{ type: "text", text: CONTINUATION }], metadata: { signal } },
  };
}

function renderChunk({ text, firstId, lastId, threadId }: LogChunk, withRange: boolean): string {
  const range =
    withRange && firstId !== undefined ? ` range="${escapeName(`${firstId}:${lastId ?? firstId}`)}"` : "";
  const thread = threadId === undefined ? "" : ` thread="${escapeName(threadId)}"`;
  return `<observations${thread}${range}>\n${escapeNotes(text)}\n</observations>`;
}

function renderTail({
  currentTask,
  suggestedResponse,
  extracted = {},
}: Omit<LogView, "chunks" | "retrieval">): string {
  const element = (tag: string, value: unknown): string[] => {
    const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    return text.trim() === "" ? [] : [`<${tag}>\n${escapeNotes(text)}\n</${tag}>`];
  };
  return [
    ...element("current-task", currentTask ?? ""),
    ...element("suggested-response", suggestedResponse ?? ""),
    ...Object.keys(extracted)
      .toSorted()
      .flatMap((slug) => element(slug, extracted[slug])),
  ].join("\n");
}
