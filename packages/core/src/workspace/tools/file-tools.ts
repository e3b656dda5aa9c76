import { AgentError } from "../../errors.ts";
import { toLines, toText, type TextFile, fromText } from "../text-file.ts";
import { cutOutput } from "../cut-output.ts";
import { editText } from "../edit-text.ts";
import { FileReadRequiredError, PermissionError, StaleFileError } from "../workspace-errors.ts";
import { announceChange, describeChange, hashOf } from "../workspace-change.ts";
import { fileIdentity } from "../file-identity.ts";
import { normalize } from "../find-entries.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import { readStoredOutput } from "./command-tools.ts";
import { fields, PATH, type ToolFrame, type WorkspaceTool } from "./tool-frame.ts";

const READ_TOKENS = 12_000;
const OUTPUT_TOKENS = 2000;
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
    "Read a file of the workspace. Text is shown with line numbers. Read a part of a large file with offset and limit.",
  category: "read",
  readOnly: true,
  idempotent: true,
  maxOutputTokens: READ_TOKENS,
  inputSchema: fields(
    { path: PATH },
    {
      offset: { type: "integer", minimum: 1, description: "The first line to show, from 1." },
      limit: { type: "integer", minimum: 1, description: "How many lines to show." },
      showLineNumbers: { type: "boolean", default: true },
      encoding: { type: "string", enum: ENCODINGS, description: "Show the bytes in this encoding instead." },
    },
  ),
  asks: ({ path }, rules) => rules.isSensitive(normalize(path)),
  async run(frame, { path, offset = 1, limit, showLineNumbers = true, encoding }, options) {
    const output = await readStoredOutput(path, options);
    const bytes = output ?? ((await frame.files.readFile(path)) as Buffer);
    if (!output)
      await frame.records.set(options.threadState, await fileIdentity(frame.files, path), hashOf(bytes));
    const size = `${bytes.length.toLocaleString("en")} bytes`;
    if (encoding && !["utf-8", "utf8"].includes(encoding)) {
      return cutOutput(`${path} (${size}, ${encoding})\n${bytes.toString(encoding)}`, frame.maxOutputTokens);
    }
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

export const writeFileTool: WorkspaceTool<{ path: string; content: string; overwrite?: boolean }> = {
  name: "write_file",
  description: "Create a file or replace its whole content. Missing directories are created.",
  category: "edit",
  readOnly: false,
  idempotent: false,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { path: PATH, content: { type: "string" } },
    { overwrite: { type: "boolean", default: true, description: "Replace a file that exists." } },
  ),
  async run(frame, input, options) {
    const { path, content, overwrite = true } = input;
    return changeFile(frame, path, options, async (before) => {
      await requireRead(frame, input, before, options);
      return {
        after: content,
        how: { overwrite },
        text: `Wrote ${Buffer.byteLength(content).toLocaleString("en")} bytes to ${path}`,
      };
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
  description:
    "Replace an exact text in a file. old_string must occur exactly once, unless replace_all is set.",
  category: "edit",
  readOnly: false,
  idempotent: false,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields(
    { path: PATH, old_string: { type: "string" }, new_string: { type: "string" } },
    { replace_all: { type: "boolean", default: false } },
  ),
  async run(frame, input, options) {
    const { path, old_string, new_string, replace_all = false } = input;
    return changeFile(frame, path, options, async (before) => {
      if (before === undefined) await frame.files.stat(path);
      await requireRead(frame, input, before, options);
      const file = toText(before!);
      if (typeof file === "string")
        throw new AgentError("invalid-argument", `${path} is ${file} and cannot be edited.`);
      const edit = editText(file.text, old_string, new_string, replace_all);
      const lines = edit.ranges
        .map(({ first, last }) => (first === last ? `${first}` : `${first}-${last}`))
        .join(", ");
      const count = edit.ranges.length === 1 ? "1 replacement" : `${edit.ranges.length} replacements`;
      const text = `${count} in ${path} (line ${lines})`;
      return { after: fromText({ ...(file as TextFile), text: edit.text }), how: { overwrite: true }, text };
    });
  },
};

export const deleteTool: WorkspaceTool<{ path: string; recursive?: boolean }> = {
  name: "delete",
  description: "Delete a file, or a directory with recursive.",
  category: "edit",
  readOnly: false,
  idempotent: false,
  maxOutputTokens: OUTPUT_TOKENS,
  inputSchema: fields({ path: PATH }, { recursive: { type: "boolean", default: false } }),
  asks: ({ recursive }) => recursive === true,
  async run(frame, { path, recursive = false }, { toolCallId, writer, threadState }) {
    requireUnprotected(frame, path);
    return frame.locked(path, async () => {
      const { type } = await frame.files.stat(path);
      if (type === "directory") {
        await frame.files.rmdir(path, { recursive });
        await announceChange(
          writer,
          await describeChange({ toolCallId, path, operation: "delete" }, undefined, undefined),
        );
        return `Deleted the directory ${path}${recursive ? " with its contents" : ""}.`;
      }
      const key = await fileIdentity(frame.files, path);
      const before = await contentOf(frame, path);
      await frame.files.deleteFile(path);
      await frame.records.set(threadState, key, undefined);
      await announceChange(
        writer,
        await describeChange({ toolCallId, path, operation: "delete" }, textOr(before), undefined),
      );
      return `Deleted ${path}.`;
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
  async run(frame, { path, recursive = true }, { toolCallId, writer }) {
    requireUnprotected(frame, path);
    if (await frame.files.exists(path)) return `${path} exists already.`;
    await frame.files.mkdir(path, { recursive });
    await announceChange(
      writer,
      await describeChange({ toolCallId, path, operation: "mkdir" }, undefined, undefined),
    );
    return `Created the directory ${path}.`;
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

/** Replaces a file's content under its lock, records what the thread knows of it, and announces the change. */
async function changeFile(
  frame: ToolFrame,
  path: string,
  { toolCallId, writer, threadState }: ToolExecutionOptions,
  change: (
    before: Buffer | undefined,
  ) => Promise<{ after: string; how: { overwrite: boolean }; text: string }>,
): Promise<string> {
  requireUnprotected(frame, path);
  return frame.locked(path, async () => {
    const before = await contentOf(frame, path);
    const { after, how, text } = await change(before);
    await frame.files.writeFile(path, after, {
      ...how,
      // Another writer may have been faster since it was read here.
      ...(how.overwrite && { expectedHash: before ? hashOf(before) : null }),
    });
    await frame.records.set(threadState, await fileIdentity(frame.files, path), hashOf(after));
    const described = await describeChange(
      { toolCallId, path, operation: before ? "edit" : "create" },
      textOr(before),
      after,
    );
    await announceChange(writer, described);
    return `${text} (+${described.added} -${described.removed}).`;
  });
}

/** A file that was read on this thread must not have changed since; the configuration may require that it was read. */
async function requireRead(
  frame: ToolFrame,
  input: { path: string },
  before: Buffer | undefined,
  { threadState }: ToolExecutionOptions,
): Promise<void> {
  if (before === undefined) return;
  const { path } = input;
  const known = await frame.records.get(threadState, await fileIdentity(frame.files, path));
  if (known === undefined) {
    if (await frame.requireReadBeforeWrite(input)) throw new FileReadRequiredError(path);
  } else if (known !== hashOf(before)) throw new StaleFileError(path);
}

function requireUnprotected({ rules }: ToolFrame, path: string): void {
  if (rules.isProtected(normalize(path))) {
    throw new PermissionError(path, "file tools cannot change files of Git or Selvedge.");
  }
}

async function contentOf({ files }: ToolFrame, path: string): Promise<Buffer | undefined> {
  return (await files.exists(path)) ? ((await files.readFile(path)) as Buffer) : undefined;
}

function textOr(bytes: Buffer | undefined): string | Uint8Array | undefined {
  if (bytes === undefined) return undefined;
  const file = toText(bytes);
  return typeof file === "string" ? bytes : fromText(file);
}
