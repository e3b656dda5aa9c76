export {
  createTool,
  Tool,
  type ElicitationPort,
  type ToolDefinition,
  type ToolExecutionContext,
  type ToolExecutionOptions,
  type ToolLike,
  type ToolsetsInput,
  type ToolsInput,
  type ToolWriter,
} from "../tool/tool.ts";
export type { ToolInputError } from "../tool/check-payload.ts";
export type { ToolPayloadTransformPolicy, ToolTransform, TransformContext } from "../tool/transform.ts";

export { isVercelTool } from "../switching/is-vercel-tool.ts";

// Schemas of any kind
export { showIssues } from "../schema/show-issues.ts";
export { compileSchema, type CompiledSchema } from "../schema/compile-schema.ts";
export type {
  InferInput,
  InferOutput,
  JsonSchema,
  Schema,
  SchemaIssue,
  Validation,
} from "../schema/schema.ts";

// Running a tool outside a run
export { limitResult } from "../tool/limit-result.ts";
export { toDefinition } from "../tool/tool-set.ts";
export { callTool, type CallToolOptions } from "../tool/call-tool.ts";

// Tools for any agent with memory: a question, a plan, a task list
export { askUserTool } from "../agent-controller/tools/ask-user.ts";
export { submitPlanTool } from "../agent-controller/tools/submit-plan.ts";
export {
  taskCheckTool,
  taskCompleteTool,
  taskUpdateTool,
  taskWriteTool,
} from "../agent-controller/tools/task-tools.ts";
