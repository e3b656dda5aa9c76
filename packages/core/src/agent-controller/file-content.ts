import { AgentError, showValue } from "../errors.ts";
import type { SignalContents } from "../signal/signal.ts";

/** A file attached to a message. */
export interface AgentControllerFile {
  /** Base64, a data URL, or a URL; for text files also the text itself. */
  data: string;
  mediaType: string;
  filename?: string;
}

const MAX_FILES = 20;
/** For one text file, which becomes part of the message. */
const MAX_TEXT_FILE_BYTES = 512 << 10;

const TEXTUAL = /^(?:text\/|application\/(?:json|.*\+json)\b)/i;
const DATA_URL = /^data:[^,]*?(;base64)?,/i;

/** A user message with its files: texts are quoted in the message, everything else is a separate part. */
export function toContents(content: unknown, files: readonly AgentControllerFile[] = []): SignalContents {
  if (typeof content !== "string")
    throw new AgentError("invalid-argument", `content must be a string, got ${showValue(content)}.`);
  if (!Array.isArray(files) || files.length > MAX_FILES)
    throw new AgentError(
      "invalid-argument",
      `files must be a list of at most ${MAX_FILES} files, got ${Array.isArray(files) ? files.length : showValue(files)}.`,
    );
  if (files.length === 0) return content;
  for (const file of files as readonly AgentControllerFile[]) checkFile(file);
  const texts = files.filter(({ mediaType }) => TEXTUAL.test(mediaType));
  const others = files.filter(({ mediaType }) => !TEXTUAL.test(mediaType));
  const text = [content, ...texts.map(quote)].filter((piece) => piece !== "").join("\n\n");
  if (others.length === 0) return text;
  return [
    ...(text === "" ? [] : [{ type: "text" as const, text }]),
    ...others.map(({ data, mediaType, filename }) => ({
      type: "file" as const,
      data,
      mediaType,
      ...(filename !== undefined && { filename }),
    })),
  ];
}

function checkFile(file: AgentControllerFile): void {
  if (typeof file?.data !== "string" || typeof file.mediaType !== "string" || file.mediaType === "")
    throw new AgentError(
      "invalid-argument",
      `A file must be { data, mediaType, filename? }, got ${showValue(file)}.`,
    );
  if (file.filename !== undefined && typeof file.filename !== "string")
    throw new AgentError("invalid-argument", `filename must be a string, got ${showValue(file.filename)}.`);
}

function quote({ data, filename, mediaType }: AgentControllerFile): string {
  const text = readText(data);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_TEXT_FILE_BYTES)
    throw new AgentError(
      "limit-exceeded",
      `File "${filename ?? mediaType}" has ${bytes} bytes; the limit for text files is ${MAX_TEXT_FILE_BYTES}.`,
    );
  const longest = (text.match(/`+/g) ?? []).reduce((most, run) => Math.max(most, run.length), 2);
  const fence = "`".repeat(longest + 1);
  const name = (filename ?? mediaType).replaceAll(/[\r\n`]/g, " ");
  return `File: ${name}\n${fence}\n${text}\n${fence}`;
}

function readText(data: string): string {
  const header = DATA_URL.exec(data);
  if (!header) return data;
  const body = data.slice(header[0].length);
  if (header[1]) return Buffer.from(body, "base64").toString("utf8");
  try {
    return decodeURIComponent(body);
  } catch {
    return body;
  }
}
