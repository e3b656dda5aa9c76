// The names of @mastra/core/server.
export {
  type ApiRoute,
  type AuthConfig,
  type AuthConfig as MastraAuthConfig,
  defineAuth,
  MastraAuthProvider,
  type MiddlewareEntry,
  type MiddlewareEntry as Middleware,
  registerApiRoute,
  type RouteHandler,
  type RouteHandler as ApiRouteHandler,
  type RouteMiddleware,
  type ServerConfig,
  SimpleAuth,
} from "../mastra/server-config.ts";
