import type { JsonSchema } from "../../schema/schema.ts";
import type { System } from "../../system.ts";
import type { ToolExecutionOptions } from "../../tool/tool.ts";
import type { FileRules } from "../file-rules.ts";
import type { ReadRecords } from "../read-records.ts";
import type { WorkspaceFilesystem } from "../workspace-filesystem.ts";

type ToolCategory = "read" | "edit" | "execute" | null;

/** What the tools of a workspace share. */
export interface ToolFrame {
  files: WorkspaceFilesystem;
  rules: FileRules;
  records: ReadRecords;
  system: System;
  /** Runs work on a file while no other tool of this process works on it. */
  locked<Result>(path: string, work: () => Promise<Result>): Promise<Result>;
  requireReadBeforeWrite(input: object): Promise<boolean>;
  maxOutputTokens: number;
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
  /** Present in a read-only workspace, too. */
  readOnly: boolean;
  maxOutputTokens: number;
  /** Whether a call asks for approval, unless the configuration says otherwise. */
  asks?(input: Input, rules: FileRules): boolean;
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
