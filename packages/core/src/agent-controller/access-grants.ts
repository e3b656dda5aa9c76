import type { DecidedCall } from "../thread/threads.ts";
import { type AccessRequest, isGranted } from "../workspace/tools/request-access-tool.ts";

const KEY = "sandboxAllowedPaths";

/** The directories that people gave to a session. */
export function allowedPathsIn(state: Record<string, unknown>): string[] {
  const paths = state[KEY];
  return Array.isArray(paths) ? paths.filter((path) => typeof path === "string") : [];
}

/** A session's state after an answer to a request for access; `undefined` if nothing was granted. */
export function stateWithAccess(
  state: Record<string, unknown>,
  { toolName, suspendPayload }: DecidedCall,
  answer: unknown,
): Record<string, unknown> | undefined {
  const { kind, path } = Object(suspendPayload) as Partial<AccessRequest>;
  if (toolName !== "request_access" || kind !== "sandbox_access_request" || path === undefined)
    return undefined;
  return isGranted(answer) ? { ...state, [KEY]: [...new Set([...allowedPathsIn(state), path])] } : undefined;
}
