import { AgentError } from "../errors.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import { ownPermission } from "../tool/execute-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { ExecuteParams, Step, StepScorers } from "./step.ts";

export interface ToolStepOptions {
  retries?: number;
  scorers?: StepScorers;
  metadata?: Record<string, unknown>;
}

const ANYTHING = {} as const;
const APPROVAL = {
  type: "object",
  properties: { approved: { type: "boolean" } },
  required: ["approved"],
} as const;

/**
 * A step that calls a tool. The tool's own `idempotent` decides whether it runs again after a crash. A call that needs an
 * approval suspends the step first; `{ approved: true }` runs it.
 */
export function toolStep(tool: Tool<any, any>, options: ToolStepOptions = {}, id: string = tool.id): Step {
  const { definition, description, inputSchema, outputSchema } = tool;
  if (!definition.execute)
    throw new AgentError(
      "invalid-argument",
      `Tool "${tool.id}" has no execute function, so it cannot be a step.`,
    );
  return {
    id,
    description,
    inputSchema: inputSchema ?? ANYTHING,
    outputSchema: outputSchema ?? ANYTHING,
    ...suspensionSchemas(definition),
    idempotent: definition.idempotent ?? false,
    component: "TOOL",
    ...options,
    execute: async (params: ExecuteParams) => {
      const { inputData, requestContext, mastra, runId, resourceId, writer } = params;
      // An approval is for the arguments that were shown: a time travel may have changed them.
      const isStale = isApproval(params.suspendData) && !isFor(params.suspendData, inputData);
      const suspendData: unknown = isStale ? undefined : params.suspendData;
      const waits = isApproval(suspendData);
      if (definition.requireApproval) {
        const { decision, reason } = await ownPermission({ definition }, inputData, requestContext);
        if (decision === "deny")
          throw new AgentError("forbidden", reason ?? `This call of tool "${tool.id}" is not allowed.`);
        // A tool that suspended by itself was approved before.
        if (decision === "ask" && suspendData === undefined)
          return params.suspend({
            [APPROVAL_MARK]: true,
            toolName: tool.id,
            args: inputData,
            ...(reason !== undefined && { reason }),
          });
        if (waits && (params.resumeData as { approved?: unknown } | null | undefined)?.approved !== true)
          throw new AgentError("forbidden", `The call of tool "${tool.id}" was not approved.`);
      }
      const resumeData: unknown = waits || isStale ? undefined : params.resumeData;
      if (definition.requireApproval && definition.resumeSchema && resumeData !== undefined) {
        const checked = await compileSchema(definition.resumeSchema).validate(resumeData);
        if (!checked.ok)
          throw new AgentError(
            "invalid-argument",
            `The answer does not match the resumeSchema of tool "${tool.id}".`,
          );
      }
      const result: unknown = await tool.execute(
        { context: inputData as never, requestContext, mastra, runId, resourceId },
        {
          abortSignal: params.abortSignal,
          toolCallId: params.idempotencyKey,
          idempotencyKey: params.idempotencyKey,
          writer,
          writableStream: writer,
          ...(resumeData !== undefined && { resumeData }),
          suspend: async (payload?: unknown) => {
            await params.suspend(payload);
          },
        },
      );
      if (isInputError(result)) throw new AgentError("invalid-argument", result.message);
      return result;
    },
  } as Step;
}

const APPROVAL_MARK = "requireApproval";

function isApproval(suspendData: unknown): boolean {
  return (suspendData as { [APPROVAL_MARK]?: unknown } | undefined)?.[APPROVAL_MARK] === true;
}

function isFor(suspendData: unknown, inputData: unknown): boolean {
  return JSON.stringify((suspendData as { args?: unknown }).args) === JSON.stringify(inputData);
}

/** A tool that needs an approval also waits for one: then its own schemas are not the only ones. */
function suspensionSchemas({
  requireApproval,
  resumeSchema,
  suspendSchema,
}: Tool<any, any>["definition"]): Pick<Step, "resumeSchema" | "suspendSchema"> {
  if (!requireApproval) return { resumeSchema, suspendSchema };
  return { resumeSchema: resumeSchema ? ANYTHING : APPROVAL, suspendSchema: undefined };
}

function isInputError(result: unknown): result is { message: string } {
  const { error, message, validationErrors } = (result ?? {}) as Record<string, unknown>;
  return error === true && typeof message === "string" && Array.isArray(validationErrors);
}
