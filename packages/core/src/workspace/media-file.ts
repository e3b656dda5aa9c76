import { posix } from "node:path";

const MEDIA_TYPES = ["image/png", "image/jpeg", "image/webp", "application/pdf"];
/** In base64 they stay below the limit of a tool's result. */
const MAX_MEDIA_BYTES = 700 * 1024;

export interface MediaOptions {
  /** The types of files that are shown to the model as they are, or `false` for none. Default: PNG, JPEG, WebP and PDF. */
  mediaTypes?: string[] | ((type: string) => boolean) | false;
  /** Default: 716,800. Raise `limits.toolResultBytes`, too: base64 takes a third more. */
  maxMediaBytes?: number;
}

/** A file as a model receives it. */
export interface MediaFile {
  type: "file";
  mediaType: string;
  filename: string;
  data: { type: "data"; data: string };
}

/** Converts an image or a document for a model; `undefined` if it is something else, too large or not wanted. */
export function mediaFile(path: string, bytes: Buffer, options: MediaOptions = {}): MediaFile | undefined {
  const { mediaTypes = MEDIA_TYPES, maxMediaBytes = MAX_MEDIA_BYTES } = options;
  const mediaType = typeOf(bytes);
  if (mediaType === undefined || mediaTypes === false || bytes.length > maxMediaBytes) return undefined;
  const isWanted = typeof mediaTypes === "function" ? mediaTypes(mediaType) : mediaTypes.includes(mediaType);
  if (!isWanted) return undefined;
  return {
    type: "file",
    mediaType,
    filename: posix.basename(path),
    data: { type: "data", data: bytes.toString("base64") },
  };
}

/** By its first bytes, not by its name. */
function typeOf(bytes: Buffer): string | undefined {
  const start = bytes.subarray(0, 12).toString("latin1");
  if (start.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (start.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (start.startsWith("RIFF") && start.endsWith("WEBP")) return "image/webp";
  if (start.startsWith("%PDF-")) return "application/pdf";
  return start.startsWith("GIF8") ? "image/gif" : undefined;
}
