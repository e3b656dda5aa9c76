import { AgentError } from "../errors.ts";

/** A thread that does not exist or belongs to another resource: the caller cannot tell which. */
export function noThread(threadId: string, resourceId?: string): AgentError {
  const owner = resourceId === undefined ? "" : ` for resource "${resourceId}"`;
  return new AgentError("not-found", `There is no thread "${threadId}"${owner}.`);
}
