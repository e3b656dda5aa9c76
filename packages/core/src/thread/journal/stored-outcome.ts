import type { ErrorCode } from "@selvedge/protocol";
import { AgentError, errorMessage, toolErrorCode } from "../../errors.ts";
import type { ToolOutcome } from "../../tool/execute-tool.ts";

export type StoredOutcome =
  | Exclude<ToolOutcome, { kind: "error" }>
  | { kind: "error"; error: string; code?: ErrorCode };

/** The outcome of a call, for the journal. An error keeps its message and its origin. */
export function storeOutcome(outcome: ToolOutcome): StoredOutcome {
  if (outcome.kind !== "error") return outcome;
  const code = toolErrorCode(outcome.error);
  return { kind: "error", error: errorMessage(outcome.error), ...(code && { code }) };
}

export function restoreOutcome(stored: StoredOutcome): ToolOutcome {
  if (stored.kind !== "error" || stored.code === undefined) return stored;
  return { kind: "error", error: new AgentError(stored.code, stored.error) };
}
