import { type RequestContext, RESOURCE_ID_KEY, THREAD_ID_KEY } from "../request-context/request-context.ts";
import { toJson } from "../json.ts";
import type { WorkflowHost } from "./workflow-host.ts";

/** Set by a server for a request. */
const OWN_KEYS: readonly string[] = [RESOURCE_ID_KEY, THREAD_ID_KEY];

/** The values of a request context that another process gets: those the app named, because others are often secrets. */
export function storedContext(
  context: RequestContext,
  host: WorkflowHost | undefined,
): Record<string, unknown> | null {
  const stored: Record<string, unknown> = {};
  for (const key of [...OWN_KEYS, ...(host?.durableContextKeys ?? [])])
    if (context.has(key)) stored[key] = toJson(context.get(key));
  return Object.keys(stored).length > 0 ? stored : null;
}
