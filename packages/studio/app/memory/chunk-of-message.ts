import type { ObservationChunk } from "@selvedge/protocol/routes";
import { createContext, use, useMemo } from "react";

/** The chunk of the log that covers a message, by their ids. */
export type ChunkOfMessage = ReadonlyMap<string, string>;

export const ChunkOfMessageContext: React.Context<ChunkOfMessage> = createContext<ChunkOfMessage>(new Map());

export function useChunkOf(messageId: string): string | undefined {
  return use(ChunkOfMessageContext).get(messageId);
}

/** Changes only when a message or a chunk is added, not with every word that streams in. */
export function useChunkOfMessage(
  messages: readonly { id: string }[],
  chunks: readonly ObservationChunk[] | undefined,
  threadId: string,
): ChunkOfMessage {
  return useMemo(
    () => chunkOfMessage(messages, chunks ?? [], threadId),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [messages.length, messages[0]?.id, messages.at(-1)?.id, chunks, threadId],
  );
}

/**
 * Chunks cover the messages of a thread in order and without a gap, and the loaded messages are the newest ones. So a
 * message belongs to the first chunk that ends at it or after it.
 */
export function chunkOfMessage(
  messages: readonly { id: string }[],
  chunks: readonly Pick<ObservationChunk, "id" | "threadId" | "lastMessageId">[],
  threadId: string,
): ChunkOfMessage {
  const endOf = new Map<string, string>();
  for (const chunk of chunks)
    if (chunk.threadId === threadId && chunk.lastMessageId !== undefined)
      endOf.set(chunk.lastMessageId, chunk.id);
  const found = new Map<string, string>();
  let chunkId: string | undefined;
  for (const { id } of messages.toReversed()) {
    chunkId = endOf.get(id) ?? chunkId;
    if (chunkId !== undefined) found.set(id, chunkId);
  }
  return found;
}
