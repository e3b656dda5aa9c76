import { AgentError } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { System } from "../system.ts";
import { createTool, type Tool, type ToolExecutionOptions, type ToolsInput } from "../tool/tool.ts";
import { fileIdentity, fileKey, pathWithoutLinks } from "./file-identity.ts";
import { normalize } from "./find-entries.ts";
import { PermissionError } from "./workspace-errors.ts";
import { fileRules, type FileRules } from "./file-rules.ts";
import { type MediaFile, mediaFile, type MediaOptions } from "./media-file.ts";
import type { KeyedLock } from "./keyed-lock.ts";
import type { FileRecords } from "./file-records.ts";
import {
  deleteTool,
  editFileTool,
  fileStatTool,
  mkdirTool,
  readFileTool,
  writeFileTool,
} from "./tools/file-tools.ts";
import { grepTool, listFilesTool } from "./tools/find-tools.ts";
import { requestAccessTool } from "./tools/request-access-tool.ts";
import type { ToolFrame, WorkspaceTool } from "./tools/tool-frame.ts";
import type { WorkspaceFilesystem } from "./workspace-filesystem.ts";

type Awaitable<Value> = Value | Promise<Value>;

/** The arguments of functions in the configuration of tools. */
export interface WorkspaceToolContext {
  requestContext: RequestContext;
  workspace: unknown;
  args?: Record<string, unknown>;
}

type Switch = boolean | ((context: WorkspaceToolContext) => Awaitable<boolean>);

export interface WorkspaceToolOptions extends MediaOptions {
  /** A function that throws disables the tool. */
  enabled?: Switch;
  /** A function that throws requires approval. */
  requireApproval?: Switch;
  /** Refuse to change a file that was not read on this thread. Default: false. */
  requireReadBeforeWrite?: Switch;
  maxOutputTokens?: number;
  /** The name the model sees. */
  name?: string;
}

export interface WorkspaceToolCall {
  toolName: string;
  workspaceToolName: string;
  input: unknown;
  context: ToolExecutionOptions;
}

export interface WorkspaceToolsConfig {
  enabled?: Switch;
  requireApproval?: Switch;
  /** How long a change waits for another one of the same file, in milliseconds. Default: 30,000. */
  writeLockTimeoutMs?: number;
  hooks?: {
    /** Return `{ proceed: false, output }` to replace the call. */
    beforeToolCall?(
      call: WorkspaceToolCall,
    ): Awaitable<{ proceed: false; output: unknown } | undefined | void>;
    afterToolCall?(call: WorkspaceToolCall & { output?: unknown; error?: unknown }): Awaitable<void>;
  };
  /** Options by the original name of a tool, such as `mastra_workspace_read_file`. */
  [toolName: string]: unknown;
}

const PREFIX = "mastra_workspace_";
const WRITE_LOCK_MS = 30_000;
const TOOLS: readonly WorkspaceTool[] = [
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  deleteTool,
  fileStatTool,
  mkdirTool,
  grepTool,
];

/** The original names of all tools. */
export const WORKSPACE_TOOLS = {
  FILESYSTEM: {
    READ_FILE: "mastra_workspace_read_file",
    WRITE_FILE: "mastra_workspace_write_file",
    EDIT_FILE: "mastra_workspace_edit_file",
    LIST_FILES: "mastra_workspace_list_files",
    DELETE: "mastra_workspace_delete",
    FILE_STAT: "mastra_workspace_file_stat",
    MKDIR: "mastra_workspace_mkdir",
    GREP: "mastra_workspace_grep",
  },
} as const;

export interface WorkspaceToolsSource {
  workspace: unknown;
  id: string;
  files: WorkspaceFilesystem;
  config: WorkspaceToolsConfig;
  system: System;
  records: FileRecords;
  allowedPaths?: readonly string[] | undefined;
  locks: KeyedLock;
}

/** The tools of a workspace under their exposed names. */
export async function workspaceTools(
  source: WorkspaceToolsSource,
  requestContext: RequestContext,
): Promise<ToolsInput> {
  const { config, files } = source;
  const rules = await fileRules();
  const exposed: Record<string, Tool> = {};
  const canAsk = source.allowedPaths !== undefined && files.withAllowedPaths !== undefined;
  for (const tool of canAsk ? [...TOOLS, requestAccessTool] : TOOLS) {
    if (files.readOnly && !tool.readOnly) continue;
    const own = optionsOf(config, tool);
    const context = { requestContext, workspace: source.workspace };
    if (!(await decide(own.enabled ?? config.enabled ?? true, context, false))) continue;
    const name = own.name ?? originalName(tool);
    if (Object.hasOwn(exposed, name)) {
      throw new AgentError(
        "invalid-argument",
        `Two workspace tools have the name ${JSON.stringify(name)}. Give one of them another name.`,
      );
    }
    exposed[name] = expose(tool, name, source, rules, requestContext);
  }
  return exposed;
}

function expose(
  tool: WorkspaceTool,
  name: string,
  source: WorkspaceToolsSource,
  rules: FileRules,
  requestContext: RequestContext,
): Tool {
  const { config, system, records, locks, id, allowedPaths } = source;
  const files = (allowedPaths && source.files.withAllowedPaths?.(allowedPaths)) ?? source.files;
  const own = optionsOf(config, tool);
  const asks = own.requireApproval ?? config.requireApproval;
  const context = { requestContext, workspace: source.workspace };
  const shown = new Map<string, MediaFile>();
  const frame: ToolFrame = {
    files,
    rules,
    records,
    system,
    allowedPaths,
    showMedia(path, bytes, toolCallId) {
      const file = mediaFile(path, bytes, own);
      if (file) shown.set(toolCallId, file);
      return file?.mediaType;
    },
    key: (path) => fileKey(id, files, path),
    async requireUnprotected(path) {
      if (rules.isProtected(normalize(path)) || rules.isProtected(await pathWithoutLinks(files, path)))
        throw new PermissionError(path, "file tools cannot change files of Git or Selvedge.");
    },
    locked: async (path, work) =>
      locks.run(await fileIdentity(files, path), config.writeLockTimeoutMs ?? WRITE_LOCK_MS, work),
    requireReadBeforeWrite: (args) =>
      decide(own.requireReadBeforeWrite ?? false, { ...context, args: { ...args } }, true),
    maxOutputTokens: own.maxOutputTokens ?? tool.maxOutputTokens,
  };
  return createTool({
    id: name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    idempotent: tool.idempotent,
    category: tool.category,
    requireApproval: (args: Record<string, unknown>) =>
      asks === undefined ? asksItself(tool, args, files, rules) : decide(asks, { ...context, args }, true),
    ...(tool.showsMedia && {
      toModelOutput(output: unknown, call?: { toolCallId: string }) {
        const file = shown.get(call?.toolCallId ?? "");
        shown.delete(call?.toolCallId ?? "");
        return file && { type: "content", value: [{ type: "text", text: String(output) }, file] };
      },
    }),
    execute: (_input, options) => {
      const input = (_input as { context: Record<string, unknown> }).context;
      return withHooks(
        config,
        { toolName: name, workspaceToolName: originalName(tool), input, context: options },
        () => tool.run(frame, input, options),
      );
    },
  }) as Tool;
}

/** Whether a tool asks for approval, also under the path without links. */
async function asksItself(
  tool: WorkspaceTool,
  args: Record<string, unknown>,
  files: WorkspaceFilesystem,
  rules: FileRules,
): Promise<boolean> {
  if (!tool.asks) return false;
  if (tool.asks(args, rules) || typeof args["path"] !== "string") return tool.asks(args, rules);
  // A path that cannot be reached is refused when the tool runs.
  const path = await pathWithoutLinks(files, args["path"]).catch(() => "");
  return path !== "" && tool.asks({ ...args, path }, rules);
}

async function withHooks(
  { hooks = {} }: WorkspaceToolsConfig,
  call: WorkspaceToolCall,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const instead = await hooks.beforeToolCall?.(call);
  if (instead?.proceed === false) return instead.output;
  try {
    const output = await run();
    await hooks.afterToolCall?.({ ...call, output });
    return output;
  } catch (error) {
    await hooks.afterToolCall?.({ ...call, error });
    throw error;
  }
}

function originalName({ name }: WorkspaceTool): string {
  return name === requestAccessTool.name ? name : PREFIX + name;
}

function optionsOf(config: WorkspaceToolsConfig, tool: WorkspaceTool): WorkspaceToolOptions {
  return (config[originalName(tool)] ?? {}) as WorkspaceToolOptions;
}

/** What a switch says; a function that throws means `onError`. */
async function decide(value: Switch, context: WorkspaceToolContext, onError: boolean): Promise<boolean> {
  if (typeof value === "boolean") return value;
  try {
    return await value(context);
  } catch {
    return onError;
  }
}
