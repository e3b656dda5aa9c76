import { AGENT_ROUTES } from "./routes/agent-routes.ts";
import { APP_ROUTES } from "./routes/app-routes.ts";
import { COMPAT_ROUTES } from "./routes/compat-routes.ts";
import { CONTROLLER_ROUTES } from "./routes/controller-routes.ts";
import { DEFINITION_ROUTES } from "./routes/definition-routes.ts";
import { MEMORY_ROUTES } from "./routes/memory-routes.ts";
import { SCHEDULE_ROUTES } from "./routes/schedule-routes.ts";
import { SCORE_ROUTES } from "./routes/score-routes.ts";
import { WORKFLOW_ROUTES } from "./routes/workflow-routes.ts";
import { WORKSPACE_ROUTES } from "./routes/workspace-routes.ts";
import type { AnyRoute } from "./routes/route.ts";
import type { RouteName, RouteTable } from "./routes/wire.ts";

/** Every route. Server, client and OpenAPI are generated from this table. */
export const ROUTES: RouteTable = {
  ...AGENT_ROUTES,
  ...CONTROLLER_ROUTES,
  ...MEMORY_ROUTES,
  ...WORKFLOW_ROUTES,
  ...WORKSPACE_ROUTES,
  ...SCHEDULE_ROUTES,
  ...SCORE_ROUTES,
  ...DEFINITION_ROUTES,
  ...APP_ROUTES,
  ...COMPAT_ROUTES,
};

/** The same, for code that iterates over all of them. */
export const ROUTE_LIST: readonly (AnyRoute & { readonly name: RouteName })[] = Object.entries(
  ROUTES as Record<RouteName, AnyRoute>,
).map(([name, entry]) => ({ ...entry, name: name as RouteName }));

/** The path of a route with its parameters and query filled in. `undefined` values are left out. */
export function routePath(
  path: string,
  params: Readonly<Record<string, string>> = {},
  query: Readonly<Record<string, unknown>> = {},
): string {
  const filled = path.replace(/:([a-zA-Z]+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined) continue;
    search.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
  const text = search.toString();
  return text === "" ? filled : `${filled}?${text}`;
}

/** The longest silence on a live stream: after a longer one, a client may consider the connection broken. */
export const HEARTBEAT_MS: number = 20_000;

/** The name of the last event of a stream that the server ends itself; see `StreamEnd`. */
export const END_EVENT: string = "end";

/**
 * The comment on a thread's stream that announces a possible change of its queue. A comment rather than an event, so
 * that every event stays a numbered chunk and older readers ignore it.
 */
export const QUEUE_COMMENT: string = "queue";

export { errorBody as ERROR_BODY_SHAPE } from "./routes/shapes.ts";
export { openAIErrorBody as OPENAI_ERROR_BODY_SHAPE } from "./routes/compat-routes.ts";
export type { AnyRoute, Grant, Method, Ownership } from "./routes/route.ts";
export type { GivenOf, Shape, TypeOf } from "./routes/shape.ts";
export type * from "./routes/wire.ts";
