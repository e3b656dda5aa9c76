import type { JsonSchema } from "../../schema/schema.ts";
import type { System } from "../../system.ts";
import type { ToolPermission } from "../../tool/tool-limits.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import type { FileRules } from "../file-rules.ts";
import type { FileRecords } from "../file-records.ts";
import type { FileKey } from "../workspace-domain.ts";
import type { BackgroundProcesses } from "../sandbox/background-processes.ts";
import type { WorkspaceSandbox } from "../sandbox/workspace-sandbox.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";
import type { BackgroundProcessOptions } from "./run-command.ts";

type ToolCategory = "read" | "edit" | "execute" | null;

/** What the tools of a workspace share. */
export interface ToolFrame {
  files: WorkspaceFilesystem;
  rules: FileRules;
  records: FileRecords;
  system: System;
  /** Identifies a file for records. */
  key(path: string): Promise<FileKey>;
  requireUnprotected(path: string): Promise<void>;
  /** Runs work on a file while no other tool of this process works on it. */
  locked<Result>(path: string, work: () => Promise<Result>): Promise<Result>;
  /** Shows an image or document to the model beside the result. Returns its type, or `undefined` if it is neither. */
  showMedia(path: string, bytes: Buffer, toolCallId: string): string | undefined;
  requireReadBeforeWrite(input: object): Promise<boolean>;
  maxOutputTokens: number;
  workspace: { id: string; name: string; status: string };
  /** Identifies the workspace of a process in the store. */
  processPlace(): Promise<string>;
  /** Present for tools that need it. */
  sandbox: WorkspaceSandbox | undefined;
  processes: BackgroundProcesses;
  background: BackgroundProcessOptions;
  /** Directories that the session was given, by their real paths. Absent outside a session. */
  allowedPaths?: readonly string[] | undefined;
}

/** A tool of a workspace, before it gets its exposed name. */
export interface WorkspaceTool<Input = unknown> {
  /** The original name, which configuration refers to, without its prefix. */
  name: string;
  /** Whether the model sees it as `mastra_workspace_<name>`. Default: true. */
  hasPrefix?: boolean;
  description: string;
  category: ToolCategory;
  inputSchema: JsonSchema;
  /** What a workspace must have for the tool to exist. Default: files. */
  needs?: "sandbox";
  /** Present in a read-only workspace, too. */
  readOnly: boolean;
  maxOutputTokens: number;
  /** Whether a call asks for approval, unless the configuration says otherwise. */
  asks?(
    input: Input,
    rules: FileRules,
    sandbox: WorkspaceSandbox | undefined,
    allowedPaths?: readonly string[],
  ): boolean | ToolPermission | Promise<boolean | ToolPermission>;
  /** Some results come with an image or a document. */
  showsMedia?: true;
  /** Running it again after a crash is harmless. */
  idempotent: boolean;
  run(frame: ToolFrame, input: Input, options: ToolExecutionOptions): Promise<string>;
}

/** A schema of an object whose first fields are required. */
export function fields(
  required: Record<string, JsonSchema>,
  optional: Record<string, JsonSchema> = {},
): JsonSchema {
  return {
    type: "object",
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  };
}

export const PATH: JsonSchema = { type: "string", description: "Path relative to the workspace root." };
