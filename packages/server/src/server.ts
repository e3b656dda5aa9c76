import { type Context, Hono } from "hono";
import { AgentError } from "@selvedge/core";
import { toLimits } from "@selvedge/core/guards";
import { checkId } from "@selvedge/core/storage";
import { type AnyRoute, ROUTE_LIST, type RouteName } from "@selvedge/protocol/routes";
import { App } from "./app.ts";
import { type Authorize, identify, Principal } from "./caller.ts";
import { type Check, decodeQuery, toCheck } from "./check-shape.ts";
import { checkRequest, corsHeaders, preflight, type RequestRules, toRules } from "./check-request.ts";
import type { Handlers } from "./handler.ts";
import { AGENT_HANDLERS } from "./handlers/agent-handlers.ts";
import { CONTROLLER_HANDLERS } from "./handlers/controller-handlers.ts";
import { APP_HANDLERS } from "./handlers/app-handlers.ts";
import { DEFINITION_HANDLERS } from "./handlers/definition-handlers.ts";
import { MEMORY_HANDLERS } from "./handlers/memory-handlers.ts";
import { SCHEDULE_HANDLERS } from "./handlers/schedule-handlers.ts";
import { SCORE_HANDLERS } from "./handlers/score-handlers.ts";
import { THREAD_HANDLERS } from "./handlers/thread-handlers.ts";
import { WORKFLOW_HANDLERS } from "./handlers/workflow-handlers.ts";
import { WORKSPACE_HANDLERS } from "./handlers/workspace-handlers.ts";
import { OPENAI_HANDLERS } from "./openai/openai-handlers.ts";
import { type HostVariables, mountHost, saidOf, withHostConfig } from "./host-config.ts";
import { readBody } from "./read-body.ts";
import { DEFAULT_SERVER_LIMITS, type ServerLimits, type ServerOptions } from "./server-options.ts";
import { findSubject, type Input, storageOf } from "./subject.ts";
import { errorResponse, jsonResponse, openAiErrorResponse } from "./to-response.ts";
import { CHAT_HANDLERS } from "./ui/chat-handlers.ts";

const HANDLERS: Handlers = {
  ...AGENT_HANDLERS,
  ...CONTROLLER_HANDLERS,
  ...MEMORY_HANDLERS,
  ...THREAD_HANDLERS,
  ...WORKFLOW_HANDLERS,
  ...WORKSPACE_HANDLERS,
  ...SCHEDULE_HANDLERS,
  ...SCORE_HANDLERS,
  ...DEFINITION_HANDLERS,
  ...APP_HANDLERS,
  ...CHAT_HANDLERS,
  ...OPENAI_HANDLERS,
};

type AnyHandler = (call: never) => Promise<unknown>;
type Entry = AnyRoute & { readonly name: RouteName };

/**
 * Serves a host over HTTP. Every request passes the same checks before its handler runs:
 *
 * Host, Origin → caller → shape → owner → handler
 */
export class Server {
  readonly #app: App;
  readonly #hono = new Hono<HostVariables>();
  readonly #authorize: Authorize | undefined;
  readonly #rules: RequestRules;
  readonly #limits: ServerLimits;

  constructor(given: ServerOptions) {
    if (!given?.mastra)
      throw new AgentError("invalid-argument", "A server needs a host: createServer({ mastra }).");
    const options = withHostConfig(given);
    this.#authorize = options.authorize;
    this.#rules = toRules(options);
    this.#limits = toLimits(DEFAULT_SERVER_LIMITS, options.limits);
    this.#app = new App(options, this.#limits);
    this.#hono.onError((error) => this.#refuse(error, false));
    mountHost(this.#hono, this.#app, (context) =>
      identify(this.#authorize, context.req.raw, saidOf(context)),
    );
    for (const route of ROUTE_LIST) this.#mount(route);
    if (options.studio !== undefined) this.#mountStudio(options.studio);
    this.#hono.notFound(({ req }) =>
      errorResponse(new AgentError("not-found", `There is no route ${req.method} ${req.path}.`)),
    );
  }

  /** Handles a request. Never rejects. Bound, so that it can be passed to any framework. */
  readonly fetch = async (request: Request): Promise<Response> => {
    let origin: string | undefined;
    try {
      origin = checkRequest(request, this.#rules);
    } catch (error) {
      return this.#refuse(error, false);
    }
    if (request.method === "OPTIONS" && origin !== undefined) return preflight(origin, request);
    const response = await this.#hono.fetch(request);
    if (origin !== undefined)
      for (const [name, value] of Object.entries(corsHeaders(origin))) response.headers.set(name, value);
    return response;
  };

  /** The number of live streams. */
  get streamCount(): number {
    return this.#app.streamCount;
  }

  /**
   * Ends the live streams and tells their readers where to resume. The host stays open, because it belongs to the app.
   */
  close(): void {
    this.#app.close();
  }

  #mount(route: Entry): void {
    const checks = toChecks(route);
    const handle: AnyHandler = HANDLERS[route.name];
    const methods = route.method === "ALL" ? ["GET", "POST", "DELETE"] : [route.method];
    this.#hono.on(methods, [route.path], (context) =>
      this.#answer(route, checks, handle, context, context.req.param() as Record<string, string>),
    );
  }

  #mountStudio(folder: string): void {
    this.#hono.get("*", async ({ req }, next) => {
      if (/^\/(?:api|v1|health)(?:\/|$)/.test(req.path)) return next();
      const { staticFile } = await import("./pages/static-files.ts");
      return (await staticFile(folder, req.raw)) ?? next();
    });
  }

  async #answer(
    route: Entry,
    checks: Checks,
    handle: AnyHandler,
    context: Context<HostVariables>,
    params: Record<string, string>,
  ): Promise<Response> {
    const request = context.req.raw;
    let inspects = false;
    let leave = () => {};
    try {
      const caller =
        route.owner === "public"
          ? new Principal({ resourceId: "nobody" })
          : await identify(this.#authorize, request, saidOf(context));
      inspects = caller.has("inspect");
      if (route.owner !== "public") leave = this.#app.enter(caller);
      const input = await this.#read(route, checks, request, params);
      const subject = await findSubject(route, input, caller, this.#app, request);
      if (route.kind === "sse" || input.body["stream"] === true) this.#app.checkRoom(caller);
      if (route.startsRun)
        await this.#app.checkRuns(caller, () => storageOf(input, this.#app), subject.threadId);
      const call = { app: this.#app, request, caller, ...input, ...subject };
      // Its parts have the shapes of this route; the type of the table only says so for each route alone.
      const answer = await handle(call as never);
      return answer instanceof Response ? answer : jsonResponse(answer);
    } catch (error) {
      return this.#refuse(error, inspects, route);
    } finally {
      leave();
    }
  }

  async #read(
    route: Entry,
    checks: Checks,
    request: Request,
    params: Record<string, string>,
  ): Promise<Input> {
    for (const [name, value] of Object.entries(params)) checkId(name, value);
    checks.params?.(params);
    const query = decodeQuery(new URL(request.url).searchParams, route.query);
    if (route.kind !== "raw") (checks.query ?? NO_QUERY)(query);
    if (!route.body) return { params, query, body: {} };
    const body = (await readBody(request, this.#limits, this.#app.system)) as Record<string, unknown>;
    checks.body?.(body);
    return { params, query, body };
  }

  #refuse(thrown: unknown, inspects: boolean, route?: Entry): Response {
    const what = route ? `${route.method} ${route.path}` : "A request";
    const error = this.#app.toWireError(thrown, inspects, what);
    return route?.tag === "openai" ? openAiErrorResponse(error) : errorResponse(error);
  }
}

interface Checks {
  params: Check | undefined;
  query: Check | undefined;
  body: Check | undefined;
}

const NO_QUERY: Check = toCheck("query", { type: "object", additionalProperties: false });

function toChecks({ params, query, body }: Entry): Checks {
  return {
    params: params && toCheck("params", params),
    query: query && toCheck("query", query),
    body: body && toCheck("body", body),
  };
}

export function createServer(options: ServerOptions): Server {
  return new Server(options);
}
