import { AgentError } from "@selvedge/core";

/** Agents and workflows are described to clients by their authors, or not served at all. */
export function requireDescription(kind: string, key: string, description: string | undefined): string {
  if (typeof description === "string" && description.trim() !== "") return description;
  throw new AgentError(
    "invalid-argument",
    `${kind} "${key}" needs a description to be served over MCP: clients choose tools by it.`,
  );
}
