import { AgentError, type Mastra } from "@selvedge/core";
import { RequestContext } from "@selvedge/core/request-context";
import type { ApiRoute, AuthConfig, MiddlewareEntry, ServerConfig } from "@selvedge/core/server";
import type { Context, Hono, MiddlewareHandler } from "hono";
import type { App } from "./app.ts";
import type { Authorize, Principal } from "./caller.ts";
import type { ServerOptions } from "./server-options.ts";

/** The variables of a request, for middleware and the app's own routes. */
export type HostVariables = {
  Variables: { mastra: Mastra; requestContext: RequestContext; caller: Principal; app: App };
};

/** Completes a server's options with the host's `server` settings. The options of `createServer` take precedence. */
export function withHostConfig<Options extends ServerOptions>(options: Options): Options {
  const { auth, cors, bodySizeLimit } = configOf(options.mastra);
  const origins = cors ? [cors.origin ?? []].flat() : [];
  if (origins.includes("*"))
    options.mastra.logger.warn(
      'server.cors.origin "*" is ignored, because it would let any page call the server on behalf of its visitor. List the allowed origins instead.',
    );
  return {
    ...options,
    authorize: options.authorize ?? (auth && toAuthorize(auth)),
    allowedOrigins: options.allowedOrigins ?? origins,
    limits: { ...(bodySizeLimit !== undefined && { bodyBytes: bodySizeLimit }), ...options.limits },
  };
}

export function configOf(mastra: Mastra): ServerConfig {
  return mastra.getServer?.() ?? {};
}

function toAuthorize(auth: AuthConfig): Authorize {
  return async (request) => {
    const token = /^Bearer\s+(\S+)$/i.exec(request.headers.get("authorization") ?? "")?.[1] ?? "";
    const user: unknown = await auth.authenticateToken?.(token, request);
    if (!user) return undefined;
    if (auth.authorizeUser && !(await auth.authorizeUser(user, request)))
      throw new AgentError("forbidden", "You do not have access to this server.");
    return { resourceId: resourceOf(auth, user), requestContext: { user } };
  };
}

function resourceOf(auth: AuthConfig, user: unknown): string {
  const { id, sub, email } = Object(user) as Record<string, unknown>;
  const found = auth.mapUserToResourceId?.(user) ?? id ?? sub ?? email;
  if (typeof found === "string" && found !== "") return found;
  throw new AgentError(
    "invalid-argument",
    "server.auth: the user has no id, sub or email. Return the user's resource id from mapUserToResourceId.",
  );
}

/** Gives each request a context, runs the host's middleware, and serves its own routes. */
export function mountHost(
  hono: Hono<HostVariables>,
  app: App,
  identify: (context: Context<HostVariables>) => Promise<Principal>,
): void {
  const { mastra } = app;
  const { middleware = [], apiRoutes = [] } = configOf(mastra);
  const entries: MiddlewareEntry[] = [middleware].flat();
  if (entries.length + apiRoutes.length === 0) return;
  hono.use("*", async (context, next) => {
    context.set("mastra", mastra);
    context.set("app", app);
    context.set("requestContext", new RequestContext());
    await next();
  });
  for (const entry of entries) {
    if (typeof entry === "function") hono.use("*", entry as MiddlewareHandler);
    else hono.use(entry.path, entry.handler as MiddlewareHandler);
  }
  for (const route of apiRoutes) mountRoute(hono, mastra, route, identify);
}

function mountRoute(
  hono: Hono<HostVariables>,
  mastra: Mastra,
  route: ApiRoute,
  identify: (context: Context<HostVariables>) => Promise<Principal>,
): void {
  let { handler } = route;
  const chain = [route.middleware ?? []].flat() as MiddlewareHandler[];
  const methods = route.method === "ALL" ? ["GET", "POST", "PUT", "PATCH", "DELETE"] : [route.method];
  hono.on(
    methods,
    route.path,
    async (context, next) => {
      if (route.requiresAuth !== false) context.set("caller", await identify(context));
      await next();
    },
    ...chain,
    async (context) => {
      handler ??= await route.createHandler!({ mastra });
      return handler(context);
    },
  );
}

/** What middleware set for a request. */
export function saidOf(context: Context<HostVariables>): Record<string, unknown> {
  return (context.get("requestContext") as RequestContext | undefined)?.toJSON() ?? {};
}
