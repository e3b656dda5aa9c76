import { AGENT_ROUTES } from "./routes/agent-routes.ts";
import { APP_ROUTES } from "./routes/app-routes.ts";
import { COMPAT_ROUTES } from "./routes/compat-routes.ts";
import { CONTROLLER_ROUTES } from "./routes/controller-routes.ts";
import { MEMORY_ROUTES } from "./routes/memory-routes.ts";
import type { AnyRoute } from "./routes/route.ts";
import type { RouteName, RouteTable } from "./routes/wire.ts";

/** Every route. Server, client and OpenAPI are made from this table. */
export const ROUTES: RouteTable = {
  ...AGENT_ROUTES,
  ...CONTROLLER_ROUTES,
  ...MEMORY_ROUTES,
  ...APP_ROUTES,
  ...COMPAT_ROUTES,
};

/** The same, for code that goes over all of them. */
export const ROUTE_LIST: readonly (AnyRoute & { readonly name: RouteName })[] = Object.entries(
  ROUTES as Record<RouteName, AnyRoute>,
).map(([name, entry]) => ({ ...entry, name: name as RouteName }));

/** The path of a route with its parameters and query filled in. Values that are `undefined` are left out. */
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

/** The longest wait between two things on a live stream: a client may take a longer silence for a broken line. */
export const HEARTBEAT_MS: number = 20_000;

/** The name of the last event of a stream that the server ends on its own account; see `StreamEnd`. */
export const END_EVENT: string = "end";

/**
 * The comment on the stream of a thread that says: what waits here may have changed. A comment and not an event, so that
 * every event stays a chunk with a number, and readers that do not know of it pass over it.
 */
export const QUEUE_COMMENT: string = "queue";

export { errorBody as ERROR_BODY_SHAPE } from "./routes/shapes.ts";
export { openAIErrorBody as OPENAI_ERROR_BODY_SHAPE } from "./routes/compat-routes.ts";
export type { AnyRoute, Grant, Method, Ownership } from "./routes/route.ts";
export type { GivenOf, Shape, TypeOf } from "./routes/shape.ts";
export type * from "./routes/wire.ts";
