import { AgentError } from "@selvedge/protocol";

/** The id of something on a server. */
export function checkName(what: string, id: unknown): string {
  if (typeof id === "string" && id !== "") return id;
  throw new AgentError("invalid-argument", `The id of ${what} must be a string, got ${JSON.stringify(id)}.`);
}
