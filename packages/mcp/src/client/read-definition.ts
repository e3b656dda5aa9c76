import { AgentError } from "@selvedge/core";
import type { MastraMCPServerDefinition } from "./server-definition.ts";

/** A server definition as connections use it. */
export interface ServerDefinition extends Omit<MastraMCPServerDefinition, "url"> {
  url?: URL;
  /** Why the server cannot be used. Thrown on use, so that it does not affect other servers. */
  refusal?: AgentError;
}

export function readDefinition(name: string, given: MastraMCPServerDefinition | undefined): ServerDefinition {
  const { url, ...definition } = given ?? {};
  if (definition.command === undefined && url === undefined) {
    throw new AgentError(
      "invalid-argument",
      `MCP server "${name}" needs a command (stdio) or a url (HTTP); it has neither.`,
    );
  }
  if (url === undefined) return definition;
  if (URL.canParse(String(url))) return { ...definition, url: new URL(url) };
  const message = `The url of MCP server "${name}" is not valid: got "${String(url)}". Write it in full, like "https://example.com/mcp".`;
  return { ...definition, refusal: new AgentError("invalid-argument", message) };
}
