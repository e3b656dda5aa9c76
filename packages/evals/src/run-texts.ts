import type { ScorerRun } from "@selvedge/core/evals";
import { extractAgentResponseMessages, extractInputMessages } from "./scorers/utils.ts";

/** What was asked and what was answered, of an agent's run or of plain values. */
export function runTexts({ input, output }: ScorerRun): { input: string; output: string } {
  return {
    input: isAgentInput(input) ? extractInputMessages(input).join(", ") : plain(input),
    output: Array.isArray(output) ? extractAgentResponseMessages(output).join(", ") : plain(output),
  };
}

function isAgentInput(input: unknown): input is Parameters<typeof extractInputMessages>[0] {
  return typeof input === "object" && input !== null && "inputMessages" in input;
}

function plain(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
