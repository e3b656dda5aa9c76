import { AgentError, showValue } from "../errors.ts";

// The context of a handler is Hono's, which core does not depend on.
// oxlint-disable-next-line typescript/no-explicit-any
type RouteContext = any;
type Awaitable<Value> = Value | Promise<Value>;

type RouteMethod = "GET" | "POST" | "PUT" | "DELETE" | "PATCH" | "ALL";
export type RouteHandler = (context: RouteContext) => Awaitable<Response>;
export type RouteMiddleware = (
  context: RouteContext,
  next: () => Promise<void>,
) => Awaitable<Response | void | undefined>;

/** A route of the app, served beside those of the framework. */
export interface ApiRoute {
  path: string;
  method: RouteMethod;
  handler?: RouteHandler;
  /** Makes the handler when the server starts. */
  createHandler?: (options: { mastra: unknown }) => Awaitable<RouteHandler>;
  middleware?: RouteMiddleware | RouteMiddleware[];
  /** `false` lets callers in that are not authenticated. */
  requiresAuth?: boolean;
}

/** Identifies callers by their token. */
export interface AuthConfig<User = any> {
  /** The user of a token; `null` refuses it. */
  authenticateToken?(token: string, request: Request): Awaitable<User | null | undefined>;
  /** Whether the user may call; default: yes. */
  authorizeUser?(user: User, request: Request): Awaitable<boolean>;
  /** Whose threads the user has. Default: `id`, `sub` or `email` of the user. */
  mapUserToResourceId?(user: User): string | undefined;
}

/** How `serve()` and `selvedge dev` serve a host. */
export interface ServerConfig {
  port?: number;
  host?: string;
  apiRoutes?: ApiRoute[];
  middleware?: MiddlewareEntry | MiddlewareEntry[];
  auth?: AuthConfig;
  /** Pages of other origins that may call; `false` means none. */
  cors?: { origin?: string | string[]; [key: string]: unknown } | false;
  /** Bytes of a request body. */
  bodySizeLimit?: number;
  [key: string]: unknown;
}

export type MiddlewareEntry = RouteMiddleware | { path: string; handler: RouteMiddleware };

const METHODS: readonly string[] = ["GET", "POST", "PUT", "DELETE", "PATCH", "ALL"];

/** Describes a route for `new Mastra({ server: { apiRoutes: [...] } })`. */
export function registerApiRoute(path: string, options: Omit<ApiRoute, "path">): ApiRoute {
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new AgentError("invalid-argument", `A route's path starts with "/", got ${showValue(path)}.`);
  if (/^\/(?:api|v1)(?:\/|$)/.test(path))
    throw new AgentError(
      "invalid-argument",
      `"${path}" is among the framework's own routes. Choose a path outside /api and /v1.`,
    );
  if (!METHODS.includes(options?.method))
    throw new AgentError(
      "invalid-argument",
      `Route ${path}: method must be ${METHODS.join(", ")}, got ${showValue(options?.method)}.`,
    );
  if (!options.handler && !options.createHandler)
    throw new AgentError("invalid-argument", `Route ${path} needs a handler or createHandler.`);
  return { ...options, path } as ApiRoute;
}

/** Types an auth configuration. */
export function defineAuth<User>(config: AuthConfig<User>): AuthConfig<User> {
  return config;
}

/** The base of an app's own authentication. */
export abstract class MastraAuthProvider<User = unknown> implements AuthConfig<User> {
  readonly name: string;

  constructor(options: { name?: string } = {}) {
    this.name = options.name ?? "auth";
  }

  abstract authenticateToken(token: string, request: Request): Awaitable<User | null>;

  authorizeUser(_user: User, _request: Request): Awaitable<boolean> {
    return true;
  }
}

/** Known tokens and their users: `new SimpleAuth({ tokens: { "secret-1": { id: "ann" } } })`. */
export class SimpleAuth<User = unknown> extends MastraAuthProvider<User> {
  readonly #users: ReadonlyMap<string, User>;

  constructor({ tokens, name }: { tokens: Record<string, User>; name?: string }) {
    super({ name: name ?? "simple-auth" });
    this.#users = new Map(Object.entries(tokens ?? {}));
  }

  authenticateToken(token: string): User | null {
    return this.#users.get(token) ?? null;
  }
}
