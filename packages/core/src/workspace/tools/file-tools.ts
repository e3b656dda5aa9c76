import { AgentError } from "../../errors.ts";
import { toLines, toText, fromText } from "../text-file.ts";
import { cutOutput } from "../cut-output.ts";
import { editText } from "../edit-text.ts";
import {
  FileExistsError,
  FileReadRequiredError,
  IsDirectoryError,
  NotDirectoryError,
  StaleFileError,
} from "../workspace-errors.ts";
import { describeChange, hashOf } from "../workspace-change.ts";
import { makeChange, type PathState, type PlannedChange } from "../make-change.ts";
import { normalize } from "../find-entries.ts";
import type { FileLines } from "../read-lines.ts";
import type { FileRules } from "../file-rules.ts";
import type { ToolPermission } from "../../tool/tool-limits.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import { readStoredOutput } from "./command-tools.ts";
import { fields, PATH, type ToolFrame, type WorkspaceTool } from "./tool-frame.ts";

const READ_TOKENS = 12_000;
const OUTPUT_TOKENS = 2000;
/** Larger files are read in parts. */
const WHOLE_BYTES = 10 * 1024 * 1024;
const BYTES_PER_TOKEN = 4;
const ENCODINGS = ["utf-8", "utf8", "base64", "hex", "binary"];

export const readFileTool: WorkspaceTool<{
  path: string;
  offset?: number;
  limit?: number;
  showLineNumbers?: boolean;
  encoding?: BufferEncoding | "utf-8";
}> = {
  name: "read_file",
  description:
    "Read a file in the workspace. Text is shown with line numbers. For a part of a large file, use offset and limit.",
  category: "read",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: READ_TOKENS,
  showsMedia: true,
  inputSchema: fields(
    { path: PATH },
    {
      offset: { type: "integer", minimum: 1, description: "The line to start at. The first line is 1." },
      limit: { type: "integer", minimum: 1, description: "How many lines to show." },
      showLineNumbers: { type: "boolean", default: true },
      encoding: { type: "string", enum: ENCODINGS, description: "Show the bytes in this encoding instead." },
    },
  ),
  asks: asksForSecret,
  async run(frame, { path, offset = 1, limit, showLineNumbers = true, encoding }, call) {
    const output = await readStoredOutput(path, call);
    const part = output || encoding ? undefined : await readLarge(frame, path, offset, limit);
    if (part !== undefined) return showLarge(frame, path, part, { offset, showLineNumbers });
    const bytes = output ?? ((await frame.files.readFile(path)) as Buffer);
    if (!output) await frame.records.set(call, await frame.key(path), hashOf(bytes));
    const size = showBytes(bytes.length);
    if (encoding && !["utf-8", "utf8"].includes(encoding)) {
      return cutOutput(`${path} (${size}, ${encoding})\n${bytes.toString(encoding)}`, frame.maxOutputTokens);
    }
    const media = frame.showMedia(path, bytes, call.toolCallId);
    if (media !== undefined) return `${path} (${media}, ${size})`;
    const file = toText(bytes);
    if (typeof file === "string") return `${path} (${size}) is ${file}. Pass an encoding to see its bytes.`;
    const lines = toLines(file.text);
    if (offset > Math.max(1, lines.length))
      return `${path} has ${lines.length} lines; line ${offset} is past the end.`;
    const shown = lines.slice(offset - 1, limit === undefined ? undefined : offset - 1 + limit);
    const range =
      shown.length === lines.length
        ? `${lines.length} lines`
        : `lines ${offset}-${offset + shown.length - 1} of ${lines.length}`;
    const text = showLineNumbers ? shown.map((line, index) => `${offset + index}\t${line}`) : shown;
    return cutOutput(`${path} (${range}, ${size})\n${text.join("\n")}`, frame.maxOutputTokens);
  },
};

/** Lines of a file that is too large to be read whole; `undefined` for others. */
async function readLarge(
  { files, maxOutputTokens }: ToolFrame,
  path: string,
  offset: number,
  limit: number | undefined,
): Promise<FileLines | undefined> {
  if (!files.readLines) return undefined;
  const { size, type } = await files.stat(path);
  if (type !== "file" || size <= WHOLE_BYTES) return undefined;
  return files.readLines(path, { offset, limit, maxBytes: maxOutputTokens * BYTES_PER_TOKEN });
}

function showLarge(
  { maxOutputTokens }: ToolFrame,
  path: string,
  { content, total, size, isCut }: FileLines,
  { offset, showLineNumbers }: { offset: number; showLineNumbers: boolean },
): string {
  const bytes = showBytes(size);
  if (offset > Math.max(1, total)) return `${path} has ${total} lines; line ${offset} is past the end.`;
  const file = toText(isCut ? wholeCharacters(content) : content);
  if (typeof file === "string") return `${path} (${bytes}) is ${file}. It is too large to be shown.`;
  const lines = toLines(file.text);
  const text = showLineNumbers ? lines.map((line, index) => `${offset + index}\t${line}`) : lines;
  const header = `${path} (lines ${offset}-${offset + lines.length - 1} of ${total}, ${bytes})`;
  const more = isCut ? ["… More follows. Use offset and limit to read a part."] : [];
  return cutOutput([header, ...text, ...more].join("\n"), maxOutputTokens);
}

function showBytes(count: number): string {
  return `${count.toLocaleString("en")} ${count === 1 ? "byte" : "bytes"}`;
}

/** Without the first bytes of a character whose others are missing. */
function wholeCharacters(bytes: Buffer): Buffer {
  let end = bytes.length;
  while (end > 0 && end > bytes.length - 4 && (bytes[end - 1]! & 0xc0) === 0x80) end--;
  return bytes[end - 1]! >= 0xc0 ? bytes.subarray(0, end - 1) : bytes;
}

export const writeFileTool: WorkspaceTool<{ path: string; content: string; overwrite?: boolean }> = {
  name: "write_file",
  description: "Create a file or replace its whole content. Missing directories are created.",
  category: "edit",
  readOnly: false,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { path: PATH, content: { type: "string" } },
    { overwrite: { type: "boolean", default: true, description: "Replace the file if it exists." } },
  ),
  async run(frame, input, options) {
    const { path, content, overwrite = true } = input;
    return makeChange(frame, options, path, {
      check: (now) => requireRead(frame, input, now, options),
      plan: (now) =>
        planWrite(frame, options, path, now, {
          after: content,
          overwrite,
          text: `Wrote ${showBytes(Buffer.byteLength(content))} to ${path}`,
        }),
    });
  },
};

export const editFileTool: WorkspaceTool<{
  path: string;
  old_string: string;
  new_string: string;
  replace_all?: boolean;
}> = {
  name: "edit_file",
  description: "Replace exact text in a file. old_string must occur exactly once, unless replace_all is set.",
  category: "edit",
  readOnly: false,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { path: PATH, old_string: { type: "string" }, new_string: { type: "string" } },
    { replace_all: { type: "boolean", default: false } },
  ),
  // Its errors show lines of the file, and whether a text is in it.
  asks: asksForSecret,
  async run(frame, input, options) {
    const { path, old_string, new_string, replace_all = false } = input;
    return makeChange(frame, options, path, {
      check: (now) => requireRead(frame, input, now, options),
      async plan(now) {
        const file = toText(now.content ?? ((await frame.files.readFile(path)) as Buffer));
        if (typeof file === "string")
          throw new AgentError("invalid-argument", `${path} is ${file} and cannot be edited.`);
        const edit = editText(file.text, old_string, new_string, replace_all);
        const lines = edit.ranges
          .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`))
          .join(", ");
        const count = edit.ranges.length === 1 ? "1 replacement" : `${edit.ranges.length} replacements`;
        return planWrite(frame, options, path, now, {
          after: fromText({ ...file, text: edit.text }),
          overwrite: true,
          text: `${count} in ${path} (line ${lines})`,
        });
      },
    });
  },
};

export const deleteTool: WorkspaceTool<{ path: string; recursive?: boolean }> = {
  name: "delete",
  description: "Delete a file or an empty directory. Set recursive to delete a directory with its contents.",
  category: "edit",
  readOnly: false,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields({ path: PATH }, { recursive: { type: "boolean", default: false } }),
  asks: ({ recursive }) => recursive === true,
  async run(frame, { path, recursive = false }, call) {
    const { files } = frame;
    return makeChange(frame, call, path, {
      follow: false,
      async plan({ type, mark, content }) {
        if (mark === null) await files.stat(path);
        const named = { toolCallId: call.toolCallId, path, operation: "delete" as const };
        const change = await describeChange(named, textOr(content), undefined);
        if (type === "directory") {
          return {
            change,
            after: null,
            text: `Deleted the directory ${path}${recursive ? " with its contents" : ""}.`,
            act: () => files.rmdir(path, { recursive }),
          };
        }
        return {
          change,
          after: null,
          text: `Deleted ${path}.`,
          act: () => files.deleteFile(path, content && { expectedHash: hashOf(content) }),
        };
      },
    });
  },
};

export const mkdirTool: WorkspaceTool<{ path: string; recursive?: boolean }> = {
  name: "mkdir",
  description: "Create a directory.",
  category: "edit",
  readOnly: false,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields({ path: PATH }, { recursive: { type: "boolean", default: true } }),
  async run(frame, { path, recursive = true }, call) {
    if (call.progress === undefined && (await frame.files.exists(path))) {
      const { type } = await frame.files.stat(path);
      if (type !== "directory") throw new NotDirectoryError(path);
      return `${path} already exists.`;
    }
    return makeChange(frame, call, path, {
      plan: async () => ({
        change: await describeChange(
          { toolCallId: call.toolCallId, path, operation: "mkdir" },
          undefined,
          undefined,
        ),
        after: "directory",
        text: `Created the directory ${path}.`,
        act: () => frame.files.mkdir(path, { recursive }),
      }),
    });
  },
};

export const fileStatTool: WorkspaceTool<{ path: string }> = {
  name: "file_stat",
  description: "Show the type, size and modification time of a file or directory.",
  category: "read",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields({ path: PATH }),
  async run({ files }, { path }) {
    try {
      const { type, size, modifiedAt } = await files.stat(path);
      return `${path}: ${type}, ${size.toLocaleString("en")} bytes, modified ${modifiedAt.toISOString()}`;
    } catch (error) {
      if (AgentError.is(error, "not-found")) return `${path}: not found`;
      throw error;
    }
  },
};

/** What a tool tells of a file with secrets, a person allows. */
function asksForSecret({ path }: { path: string }, rules: FileRules): false | ToolPermission {
  return (
    rules.isSensitive(normalize(path)) && {
      decision: "ask",
      explicit: true,
      reason: `${path} may contain secrets.`,
    }
  );
}

/** Plans to give a file a new content. */
async function planWrite(
  { files }: ToolFrame,
  { toolCallId }: ToolExecutionOptions,
  path: string,
  { type, content }: PathState,
  { after, overwrite, text }: { after: string; overwrite: boolean; text: string },
): Promise<PlannedChange> {
  if (type === "directory") throw new IsDirectoryError(path);
  if (type && !overwrite) throw new FileExistsError(path);
  // A file that is too large to be read is too large to be replaced.
  if (type && !content) await files.readFile(path);
  const operation = content ? "edit" : "create";
  const change = await describeChange({ toolCallId, path, operation }, textOr(content), after);
  return {
    change,
    after: change.after,
    text: `${text} (+${change.added} -${change.removed}).`,
    // Another writer may have been faster since it was read here.
    act: () => files.writeFile(path, after, { overwrite, expectedHash: change.before }),
  };
}

/** A file that was read on this thread must not have changed since; the configuration may require that it was read. */
async function requireRead(
  frame: ToolFrame,
  input: { path: string },
  { content, mark }: PathState,
  call: ToolExecutionOptions,
): Promise<void> {
  if (!content) return;
  const { path } = input;
  const known = await frame.records.get(call, await frame.key(path));
  if (known === undefined) {
    if (await frame.requireReadBeforeWrite(input)) throw new FileReadRequiredError(path);
  } else if (known !== mark) throw new StaleFileError(path);
}

function textOr(bytes: Buffer | undefined): string | Uint8Array | undefined {
  if (bytes === undefined) return undefined;
  const file = toText(bytes);
  return typeof file === "string" ? bytes : fromText(file);
}
