import type { SourceMessagePart } from "./message.ts";

type UiSource = { type: "source-url" | "source-document"; sourceId: string; [key: string]: unknown };

/** A source in the form of the AI SDK's UI messages and UI message stream. */
export function toUiSource(source: SourceMessagePart["source"]): UiSource {
  const { id: sourceId, title, filename } = source;
  if (source.sourceType === "url")
    return { type: "source-url", sourceId, url: source.url ?? "", ...(title !== undefined && { title }) };
  return {
    type: "source-document",
    sourceId,
    mediaType: source.mimeType ?? "application/octet-stream",
    title: title ?? filename ?? sourceId,
    ...(filename !== undefined && { filename }),
  };
}
