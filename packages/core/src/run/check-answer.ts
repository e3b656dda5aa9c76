import { AgentError } from "../errors.ts";
import { compileSchema } from "../schema/compile-schema.ts";
import type { Schema } from "../schema/schema.ts";
import { showIssues } from "../schema/show-issues.ts";
import type { Decision } from "./resume.ts";
import type { OpenCall } from "./run.ts";

type Asked = Pick<OpenCall, "toolCallId" | "toolName" | "requiresApproval" | "resumeSchema">;

/**
 * The answer for a waiting call. An answer that its tool could not parse is refused while its author can still give
 * another.
 */
export async function checkAnswer(call: Asked, decision: Decision): Promise<Decision> {
  if (!decision.approved) return decision;
  if (call.requiresApproval) {
    if ((Object(decision.resumeData) as { approved?: unknown }).approved === false)
      throw new AgentError(
        "invalid-argument",
        `Tool call "${call.toolCallId}" is still waiting: it was approved, but resumeData says approved: false. Decline the call, or leave that field out.`,
      );
    return decision;
  }
  // A tool that suspended must be able to tell the second call from the first, whatever the answer was.
  const { resumeData = { approved: true } } = decision;
  const checked = await compileSchema(JSON.parse(call.resumeSchema) as Schema).validate(resumeData);
  if (checked.ok) return { ...decision, resumeData };
  throw new AgentError(
    "tool-input-invalid",
    `Tool call "${call.toolCallId}" is still waiting: resumeData does not match the resumeSchema of tool "${call.toolName}": ${showIssues(checked.issues, "resumeData")}`,
    { details: { issues: checked.issues } },
  );
}
