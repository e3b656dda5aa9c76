import { AgentError } from "../errors.ts";
import type { RequestContext } from "../request-context/request-context.ts";
import type { System } from "../system.ts";
import { createTool, type Tool, type ToolExecutionOptions, type ToolsInput } from "../tool/tool.ts";
import { isGrantable } from "./contained/grantable-path.ts";
import { fileIdentity, fileKey, pathWithoutLinks } from "./file-identity.ts";
import { fileRules, type FileRules, requireUnprotected } from "./file-rules.ts";
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
import { executeCommandTool, getProcessOutputTool, killProcessTool } from "./tools/command-tools.ts";
import type { BackgroundProcessOptions } from "./tools/run-command.ts";
import type { ToolPermission } from "../tool/tool-limits.ts";
import type { BackgroundProcesses } from "./sandbox/background-processes.ts";
import type { WorkspaceSandbox } from "./sandbox/workspace-sandbox.ts";
import { keepIndexed, searchTools } from "./tools/search-tools.ts";
import { skillTools } from "./tools/skill-tools.ts";
import type { WorkspaceSearch } from "./search/workspace-search.ts";
import type { WorkspaceSkills } from "./skills/workspace-skills.ts";
import { requestAccessTool } from "./tools/request-access-tool.ts";
import type { ToolFrame, WorkspaceTool } from "./tools/tool-frame.ts";
import { WorkspaceReadOnlyError } from "./workspace-errors.ts";
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
  /** Of `execute_command`: for processes that outlive their call. */
  backgroundProcesses?: BackgroundProcessOptions;
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
const OWN_TOOLS: readonly WorkspaceTool[] = [
  readFileTool,
  writeFileTool,
  editFileTool,
  listFilesTool,
  deleteTool,
  fileStatTool,
  mkdirTool,
  grepTool,
  executeCommandTool,
  getProcessOutputTool,
  killProcessTool,
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
  SANDBOX: {
    EXECUTE_COMMAND: "mastra_workspace_execute_command",
    GET_PROCESS_OUTPUT: "mastra_workspace_get_process_output",
    KILL_PROCESS: "mastra_workspace_kill_process",
  },
  SEARCH: { SEARCH: "mastra_workspace_search", INDEX: "mastra_workspace_index" },
  SKILLS: { SKILL: "skill", SKILL_SEARCH: "skill_search", SKILL_READ: "skill_read" },
} as const;

export interface WorkspaceToolsSource {
  workspace: { id: string; name: string; status: string };
  id: string;
  files: WorkspaceFilesystem | undefined;
  /** Leave out the tools that change files: the filesystem is known to be read-only. */
  hidesEdits: boolean;
  sandbox: WorkspaceSandbox | undefined;
  processes: BackgroundProcesses;
  /** Identifies the workspace of a process in the store. */
  processPlace(): Promise<string>;
  search: WorkspaceSearch | undefined;
  /** Absent without skills. */
  skills: WorkspaceSkills | undefined;
  config: WorkspaceToolsConfig;
  system: System;
  records: FileRecords;
  allowedPaths?: readonly string[] | undefined;
  locks: KeyedLock;
}

/** The tools of a workspace under their exposed names. */
export async function workspaceTools(
  given: WorkspaceToolsSource,
  requestContext: RequestContext,
): Promise<ToolsInput> {
  const { config, files, sandbox, search, skills } = given;
  const context = { requestContext, workspace: given.workspace };
  const isEnabled = (tool: WorkspaceTool) =>
    decide(optionsOf(config, tool).enabled ?? config.enabled ?? true, context, false);
  const rules = await fileRules(files);
  const exposed: Record<string, Tool> = {};
  const canAsk =
    given.allowedPaths !== undefined &&
    files?.withAllowedPaths !== undefined &&
    (await isEnabled(requestAccessTool as WorkspaceTool));
  const source = { ...given, allowedPaths: canAsk ? await usable(files, given.allowedPaths!) : undefined };
  const tools = [
    ...OWN_TOOLS.filter((tool) => (tool.needs === "sandbox" ? sandbox : files)).map((tool) =>
      search && tool.needs !== "sandbox" ? keepIndexed(tool, search) : tool,
    ),
    ...(canAsk ? [requestAccessTool] : []),
    ...(search ? searchTools(search) : []),
    ...(skills ? skillTools(skills) : []),
  ];
  for (const tool of tools) {
    if (given.hidesEdits && !tool.readOnly) continue;
    if (!(await isEnabled(tool))) continue;
    const name = optionsOf(config, tool).name ?? originalName(tool);
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

/** Granted paths are kept where clients can write, so what could not be granted does not count. */
async function usable(files: WorkspaceFilesystem, paths: readonly string[]): Promise<string[]> {
  const root = (await files.realpath?.(".")) ?? "/";
  return paths.filter((path) => isGrantable(path, root));
}

function expose(
  tool: WorkspaceTool,
  name: string,
  source: WorkspaceToolsSource,
  rules: FileRules,
  requestContext: RequestContext,
): Tool {
  const { config, system, records, locks, sandbox, processes, workspace, id, allowedPaths } = source;
  // Tools that need files do not exist without them.
  const files = ((allowedPaths && source.files?.withAllowedPaths?.(allowedPaths)) ??
    source.files) as WorkspaceFilesystem;
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
    requireUnprotected: (path) => requireUnprotected(rules, files, path),
    locked: async (path, work) =>
      locks.run(await fileIdentity(files, path), config.writeLockTimeoutMs ?? WRITE_LOCK_MS, work),
    requireReadBeforeWrite: (args) =>
      decide(own.requireReadBeforeWrite ?? false, { ...context, args: { ...args } }, true),
    maxOutputTokens: own.maxOutputTokens ?? tool.maxOutputTokens,
    workspace,
    processPlace: source.processPlace,
    sandbox,
    processes,
    background: own.backgroundProcesses ?? {},
  };
  return createTool({
    id: name,
    description: tool.description,
    inputSchema: tool.inputSchema,
    idempotent: tool.idempotent,
    category: tool.category,
    requireApproval: async (args: Record<string, unknown>): Promise<boolean | ToolPermission> => {
      const itself = await asksItself(tool, args, { files, sandbox, allowedPaths }, rules);
      const said = typeof itself === "object" ? itself : undefined;
      if (asks === undefined || said?.always) return itself;
      const decision = (await decide(asks, { ...context, args }, true)) ? "ask" : "allow";
      return { ...said, decision, explicit: true };
    },
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
        async () => {
          // A filesystem of the app's own may leave that to its tools.
          if (files?.readOnly && !tool.readOnly) throw new WorkspaceReadOnlyError(String(input["path"]));
          return tool.run(frame, input, options);
        },
      );
    },
  }) as Tool;
}

/** Whether a tool asks for approval, also under the path without links. */
async function asksItself(
  tool: WorkspaceTool,
  args: Record<string, unknown>,
  { files, sandbox, allowedPaths }: Pick<WorkspaceToolsSource, "files" | "sandbox" | "allowedPaths">,
  rules: FileRules,
): Promise<boolean | ToolPermission> {
  const said = (await tool.asks?.(args, rules, sandbox, allowedPaths)) ?? false;
  if (!tool.asks || said || !files || typeof args["path"] !== "string") return said;
  // A path that cannot be reached is refused when the tool runs.
  const path = await pathWithoutLinks(files, args["path"]).catch(() => "");
  return path !== "" && tool.asks({ ...args, path }, rules, sandbox);
}

async function withHooks(
  { hooks = {} }: WorkspaceToolsConfig,
  call: WorkspaceToolCall,
  run: () => Promise<unknown>,
): Promise<unknown> {
  const instead = await hooks.beforeToolCall?.(call);
  if (instead?.proceed === false) return instead.output;
  let output: unknown;
  try {
    output = await run();
  } catch (error) {
    await hooks.afterToolCall?.({ ...call, error });
    throw error;
  }
  await hooks.afterToolCall?.({ ...call, output });
  return output;
}

function originalName({ name, hasPrefix = true }: WorkspaceTool): string {
  return hasPrefix ? PREFIX + name : name;
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
