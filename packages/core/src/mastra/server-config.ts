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

/** A route of the app, served next to the framework's own. */
export interface ApiRoute {
  path: string;
  method: RouteMethod;
  handler?: RouteHandler;
  /** Makes the handler when the server starts. */
  createHandler?: (options: { mastra: unknown }) => Awaitable<RouteHandler>;
  middleware?: RouteMiddleware | RouteMiddleware[];
  /** `false` also serves callers that are not authenticated. */
  requiresAuth?: boolean;
}

/** Identifies callers by their token. */
export interface AuthConfig<User = any> {
  /** Returns the user for a token, or `null` to refuse it. */
  authenticateToken?(token: string, request: Request): Awaitable<User | null | undefined>;
  /** Whether the user may use the server. Default: yes. */
  authorizeUser?(user: User, request: Request): Awaitable<boolean>;
  /** The resource whose threads the user can use. Default: the user's `id`, `sub` or `email`. */
  mapUserToResourceId?(user: User): string | undefined;
}

/** How `serve()` and `selvedge dev` serve a host. */
export interface ServerConfig {
  port?: number;
  host?: string;
  apiRoutes?: ApiRoute[];
  middleware?: MiddlewareEntry | MiddlewareEntry[];
  auth?: AuthConfig;
  /** Other origins whose pages may call the server. `false` means none. */
  cors?: { origin?: string | string[]; [key: string]: unknown } | false;
  /** The largest request body, in bytes. */
  bodySizeLimit?: number;
  [key: string]: unknown;
}

export type MiddlewareEntry = RouteMiddleware | { path: string; handler: RouteMiddleware };

const METHODS: readonly string[] = ["GET", "POST", "PUT", "DELETE", "PATCH", "ALL"];

/** Describes a route for `new Mastra({ server: { apiRoutes: [...] } })`. */
export function registerApiRoute(path: string, options: Omit<ApiRoute, "path">): ApiRoute {
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new AgentError("invalid-argument", `A route's path must start with "/", got ${showValue(path)}.`);
  if (/^\/(?:api|v1)(?:\/|$)/.test(path))
    throw new AgentError(
      "invalid-argument",
      `"${path}" is reserved for the framework's own routes. Choose a path outside /api and /v1.`,
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
