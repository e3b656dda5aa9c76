import type { LanguageModelV4FilePart } from "@ai-sdk/provider";
import type { FileMessagePart, MessageContent, ProviderMetadata } from "@selvedge/protocol";
import type { ModelMessage } from "./model-message.ts";

export type UserContent = Extract<ModelMessage, { role: "user" }>["content"];

/** The parts of a person's message that a model takes: texts and files. Never empty. */
export function userContent(content: MessageContent): UserContent {
  const parts: UserContent = [];
  for (const part of content.parts) {
    if (part.type === "text")
      parts.push(withOptions({ type: "text", text: part.text }, part.providerMetadata));
    else if (part.type === "file") parts.push(filePart(part));
  }
  if (parts.length === 0) parts.push({ type: "text", text: content.content ?? "" });
  return parts;
}

export function filePart(part: FileMessagePart): LanguageModelV4FilePart {
  return withOptions(
    {
      type: "file",
      data: fileData(part.data),
      mediaType: part.mimeType,
      ...(part.filename && { filename: part.filename }),
    },
    part.providerMetadata,
  );
}

export function withOptions<T extends object>(value: T, providerOptions: ProviderMetadata | undefined): T {
  return providerOptions ? { ...value, providerOptions } : value;
}

function fileData(data: string): LanguageModelV4FilePart["data"] {
  const inline = /^data:[^,]{0,200};base64,/.exec(data);
  if (inline) return { type: "data", data: data.slice(inline[0].length) };
  if (/^https?:\/\//.test(data) && URL.canParse(data)) return { type: "url", url: new URL(data) };
  return { type: "data", data };
}
