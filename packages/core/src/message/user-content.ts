import type { LanguageModelV4FilePart, LanguageModelV4ReasoningFilePart } from "@ai-sdk/provider";
import type { FileMessagePart, MessageContent, ProviderMetadata } from "@selvedge/protocol";
import { mediaTypeOf, readDataUrl } from "./media-type.ts";
import type { ModelMessage } from "./model-message.ts";

export type UserContent = Extract<ModelMessage, { role: "user" }>["content"];

/** The parts of a user message that a model accepts: texts and files. Never empty. */
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
      data: part.providerReference
        ? { type: "reference", reference: part.providerReference }
        : fileData(part.data),
      mediaType: mediaTypeOf(part.data, part.mimeType) ?? part.mimeType,
      ...(part.filename && { filename: part.filename }),
    },
    part.providerMetadata,
  );
}

/** A file that the model created while reasoning. */
export function reasoningFilePart(part: FileMessagePart): LanguageModelV4ReasoningFilePart {
  const { mediaType } = filePart(part);
  return withOptions({ type: "reasoning-file", data: fileData(part.data), mediaType }, part.providerMetadata);
}

export function withOptions<T extends object>(value: T, providerOptions: ProviderMetadata | undefined): T {
  return providerOptions ? { ...value, providerOptions } : value;
}

function fileData(data: string): LanguageModelV4ReasoningFilePart["data"] {
  const url = readDataUrl(data);
  if (url) {
    const body = data.slice(url.bodyAt);
    return { type: "data", data: url.base64 ? body : encodeText(body) };
  }
  if (/^https?:\/\//.test(data) && URL.canParse(data)) return { type: "url", url: new URL(data) };
  return { type: "data", data };
}

/** The body of a data URL that is not base64. */
function encodeText(body: string): string {
  const bytes = body
    .toWellFormed()
    .replace(/[^\x20-\x7e]+/g, encodeURIComponent)
    .replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("base64");
}
