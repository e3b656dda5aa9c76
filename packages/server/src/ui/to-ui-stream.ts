import type { AgentChunk } from "@selvedge/protocol";
import { type UiChunk, UiChunks } from "./ui-chunks.ts";

/** What a UI message stream contains. */
export interface UiStreamOptions {
  /** The answer to continue. */
  lastMessageId?: string | undefined;
  sendStart?: boolean | undefined;
  sendFinish?: boolean | undefined;
  sendReasoning?: boolean | undefined;
  sendSources?: boolean | undefined;
  /** The text of an error. Default: its message. */
  onError?: ((error: unknown) => string) | undefined;
  /** Metadata of the message, at its start and its end. */
  messageMetadata?: ((options: { part: UiChunk }) => unknown) | undefined;
  /** Changes chunks before they are converted: to hide what their reader must not see. Default: nothing. */
  show?: ((chunk: AgentChunk) => AgentChunk) | undefined;
}

/** Converts the chunks of a run to the AI SDK's UI message stream. */
export function toUiStream(
  chunks: AsyncIterable<AgentChunk>,
  options: UiStreamOptions = {},
): ReadableStream<UiChunk> {
  const parts = uiParts(chunks, options);
  return new ReadableStream<UiChunk>(
    {
      pull: async (controller) => {
        const { done, value } = await parts.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await parts.return()),
    },
    { highWaterMark: 0 },
  );
}

async function* uiParts(
  chunks: AsyncIterable<AgentChunk>,
  options: UiStreamOptions,
): AsyncGenerator<UiChunk, void> {
  const { lastMessageId, show = (chunk) => chunk } = options;
  const ui = new UiChunks(lastMessageId === undefined ? {} : { messageId: lastMessageId });
  for await (const chunk of chunks)
    for (const part of ui.from(show(chunk)))
      if (isWanted(part, options)) yield complete(part, chunk, options);
}

function isWanted({ type }: UiChunk, options: UiStreamOptions): boolean {
  const { sendStart = true, sendFinish = true, sendReasoning = false, sendSources = false } = options;
  if (type === "start") return sendStart;
  if (type === "finish") return sendFinish;
  if (type.startsWith("reasoning")) return sendReasoning;
  return type.startsWith("source-") ? sendSources : true;
}

function complete(part: UiChunk, chunk: AgentChunk, { onError, messageMetadata }: UiStreamOptions): UiChunk {
  if (part.type === "error" && onError && chunk.type === "error")
    return { ...part, errorText: onError(chunk.payload.error) };
  if ((part.type !== "start" && part.type !== "finish") || !messageMetadata) return part;
  const metadata = messageMetadata({ part });
  return metadata === undefined ? part : { ...part, messageMetadata: metadata };
}
