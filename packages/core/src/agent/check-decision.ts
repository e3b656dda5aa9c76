import { AgentError, errorMessage, showValue } from "../errors.ts";
import type { Decision } from "../run/resume.ts";

const MAX_ANSWER_BYTES = 1 << 20;

/** A person's answer to a waiting call, validated before anything is decided. Only `approved` decides. */
export function checkDecision(answer: {
  approved: boolean;
  resumeData?: unknown;
  declineContext?: { reason?: string; message?: string };
}): Decision {
  const { approved, resumeData, declineContext } = answer;
  const reason = checkText("reason", declineContext?.reason);
  const message = checkText("message", declineContext?.message);
  return {
    approved,
    ...(reason !== undefined && { reason }),
    ...(message !== undefined && { message }),
    ...(resumeData !== undefined && { resumeData: toJson(resumeData) }),
  };
}

function checkText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (typeof value !== "string")
    throw new AgentError("invalid-argument", `${name} must be a string, got ${showValue(value)}.`);
  checkSize(name, value);
  return value.toWellFormed();
}

function toJson(value: unknown): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch (cause) {
    throw new AgentError("invalid-argument", `resumeData is not JSON: ${errorMessage(cause)}`, { cause });
  }
  if (text === undefined)
    throw new AgentError("invalid-argument", `resumeData is not JSON: ${showValue(value)}.`);
  checkSize("resumeData", text);
  return JSON.parse(text) as unknown;
}

function checkSize(name: string, text: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes <= MAX_ANSWER_BYTES) return;
  throw new AgentError("limit-exceeded", `${name} has ${bytes} bytes; the limit is ${MAX_ANSWER_BYTES}.`);
}

export function checkCallId(toolCallId: unknown): string | undefined {
  if (toolCallId === undefined || typeof toolCallId === "string") return toolCallId;
  throw new AgentError("invalid-argument", `toolCallId must be a string, got ${showValue(toolCallId)}.`);
}
