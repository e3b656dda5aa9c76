import { isObject } from "@selvedge/protocol";
import type { FileMessagePart } from "@selvedge/protocol";
import { invalid, type LoosePart, optionalText } from "./invalid-message.ts";
import { mediaTypeOf } from "./media-type.ts";

/** Converts a file or image in any input form to its stored form. */
export function toFilePart(part: LoosePart): FileMessagePart {
  const data = toFileString(part["data"] ?? part["image"] ?? part["url"]);
  if (/^https?:/.test(data) && !URL.canParse(data))
    throw invalid("The URL of a file part is not valid", data);
  const given: unknown =
    part["mediaType"] ?? part["mimeType"] ?? (part.type === "image" ? "image/*" : undefined);
  if (given !== undefined && typeof given !== "string")
    throw invalid("mediaType of a file part must be a string such as image/png", given);
  const mimeType = mediaTypeOf(data, given);
  if (mimeType === undefined) throw invalid("A file part needs mediaType", { ...part, data: "…" });
  const reference: unknown = part["providerReference"];
  return {
    type: "file",
    data,
    mimeType,
    ...optionalText(part, "filename"),
    ...(isReference(reference) && { providerReference: reference }),
    ...(part.type === "reasoning-file" && { reasoning: true }),
  };
}

function isReference(value: unknown): value is Record<string, string> {
  return isObject(value) && Object.values(value).every((name) => typeof name === "string");
}

function toFileString(source: unknown): string {
  if (typeof source === "string") return source;
  if (source instanceof URL) return source.href;
  if (source instanceof Uint8Array)
    return Buffer.from(source.buffer, source.byteOffset, source.byteLength).toString("base64");
  if (source instanceof ArrayBuffer) return Buffer.from(source).toString("base64");
  throw invalid("A file part needs data: a base64 string, a URL or bytes", typeof source);
}
