import { AgentError } from "@selvedge/core";

/** Agents and workflows without a description are not served. */
export function requireDescription(kind: string, key: string, description: string | undefined): string {
  if (typeof description === "string" && description.trim() !== "") return description;
  throw new AgentError(
    "invalid-argument",
    `${kind} "${key}" needs a description to be served over MCP: clients choose tools by it.`,
  );
}
