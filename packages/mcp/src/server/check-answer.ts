import { AgentError } from "@selvedge/core";
import { compileSchema, type JsonSchema, showIssues } from "@selvedge/core/tools";
import type { AskRequest } from "./ask.ts";

/** Returns a client's answer, or throws an error for the tool that asked. */
export async function checkAnswer(request: AskRequest, answer: unknown): Promise<unknown> {
  const problem = await problemOf(request, Object(answer) as Record<string, unknown>);
  if (problem === undefined) return answer;
  const { message } = request.params ?? {};
  const subject = typeof message === "string" ? `"${message}"` : `"${request.method}"`;
  throw new AgentError(
    "tool-input-invalid",
    `The client's answer to ${subject} ${problem}. Ask again or continue without it.`,
  );
}

async function problemOf(
  { method, params }: AskRequest,
  answer: Record<string, unknown>,
): Promise<string | undefined> {
  if (method === "roots/list") return "roots" in answer ? undefined : "has no roots";
  if (method === "sampling/createMessage") return "content" in answer ? undefined : "has no content";
  const { action, content } = answer;
  if (action === "decline" || action === "cancel") return undefined;
  if (action !== "accept") return `has the action ${String(action)}, not "accept", "decline" or "cancel"`;
  const schema = params?.["requestedSchema"] as JsonSchema | undefined;
  const checked = schema && (await compileSchema(schema).validate(content ?? {}));
  if (!checked || checked.ok) return undefined;
  return `does not match the requested schema (${showIssues(checked.issues, "content")})`;
}
