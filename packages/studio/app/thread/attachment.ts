import type { FilePart, SignalContents, TextPart } from "@selvedge/protocol/routes";

/** A file that goes along with a message. */
export interface Attachment {
  id: string;
  name: string;
  mediaType: string;
  size: number;
  /** Base64. */
  data: string;
}

/** Of one message: a server takes bodies of 8 MB, and base64 makes three bytes four. */
export const MAX_BYTES = 6_000_000;
const PICTURE = /^image\/(png|jpe?g|gif|webp|avif)$/;

/** Reads files for a message that has some already. Those that do not fit are named in `problems`. */
export async function readAttachments(
  files: readonly File[],
  present: readonly Attachment[],
): Promise<{ added: Attachment[]; problems: string[] }> {
  const added: Attachment[] = [];
  const problems: string[] = [];
  let total = present.reduce((sum, { size }) => sum + size, 0);
  for (const file of files) {
    const name = file.name || "file";
    if (file.size === 0) problems.push(`${name} is empty.`);
    else if (total + file.size > MAX_BYTES) {
      problems.push(
        `${name} is too large (${formatBytes(file.size)}): the files of a message may have ${formatBytes(MAX_BYTES)} in total.`,
      );
    } else {
      try {
        const bytes = new Uint8Array(await file.arrayBuffer());
        const mediaType = file.type || guessType(bytes);
        added.push({ id: crypto.randomUUID(), name, mediaType, size: file.size, data: toBase64(bytes) });
        total += file.size;
      } catch (error) {
        problems.push(`${name} cannot be read: ${(error as Error).message}`);
      }
    }
  }
  return { added, problems };
}

export function toContents(text: string, attachments: readonly Attachment[]): SignalContents {
  if (attachments.length === 0) return text;
  const files = attachments.map(({ name, mediaType, data }): FilePart => ({
    type: "file",
    data,
    mediaType,
    filename: name,
  }));
  const words: TextPart[] = text.trim() === "" ? [] : [{ type: "text", text }];
  return [...words, ...files];
}

/** Where a picture's bytes can be drawn from; nothing for other files, and for addresses elsewhere. */
export function toPicture(data: string, mediaType: string): string | undefined {
  if (!PICTURE.test(mediaType)) return undefined;
  const bytes = inlineBytes(data);
  return bytes === undefined ? undefined : `data:${mediaType};base64,${bytes}`;
}

/** The base64 of a file that is here and not elsewhere. */
export function inlineBytes(data: string): string | undefined {
  const [, url] = /^data:[^,]{0,256};base64,/.exec(data.slice(0, 300)) ? data.split(",", 2) : [];
  const bytes = url ?? data;
  return /^[a-z0-9+/=_-]+$/i.test(bytes.slice(0, 256)) ? bytes : undefined;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${Math.round(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** For files whose type the browser does not know: most of them are some kind of text. */
function guessType(bytes: Uint8Array): string {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? "application/octet-stream" : "text/plain";
  } catch {
    return "application/octet-stream";
  }
}

function toBase64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000)
    text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
