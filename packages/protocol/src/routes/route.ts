import type { Shape } from "./shape.ts";

/** What a caller may do beyond talking on its own threads. */
export type Grant =
  /** Signals of a system, state and notifications: what a model takes for more than a person's words. */
  | "signals"
  /** Options that change what the agent is told or asked with: instructions, model, system messages. */
  | "run-options"
  /** Run tools directly. */
  | "tools"
  /** Say that a tool which asks for approval may run, where no run asks. */
  | "approve-tools"
  | "mcp"
  | "vectors"
  /** Read instructions and other inner parts of agents. */
  | "inspect";

/**
 * Whose a route's subject is, and so what is checked before its handler runs.
 *
 * - `public`: nobody's; answered to everyone.
 * - `app`: the same for every caller who may come in at all.
 * - `grant`: the app's, for those who have the grant.
 * - `resource`: the caller's own; lists are cut down to it.
 * - `thread`: the thread in `threadId`; one of another owner is answered like one that does not exist.
 * - `new-thread`: the same, and a thread that does not exist yet becomes the caller's.
 * - `run`: the run in `runId`, by the owner of its thread.
 * - `response`: the stored response in `responseId`.
 */
export type Ownership =
  | "public"
  | "app"
  | "grant"
  | "resource"
  | "thread"
  | "new-thread"
  | "run"
  | "response";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ALL";

/** What goes in and comes out of a route. */
export interface RouteCall {
  params?: object;
  query?: object;
  body?: object;
  /** For routes that answer JSON. */
  response?: unknown;
  /** For routes that answer a stream: what one event's `data` holds. */
  event?: unknown;
}

type Part<Call, Key extends string> = Call extends { [K in Key]: infer Type } ? Shape<Type> : undefined;

/** One line of the route table. Server, client and OpenAPI are made from it. */
export interface Route<Call = RouteCall> {
  readonly method: Method;
  /** Complete, with parameters as `:name`. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly owner: Ownership;
  readonly grant?: Grant;
  /** Where the thread's id stands, first match wins. */
  readonly threadAt: readonly string[];
  readonly params: Part<Call, "params">;
  readonly query: Part<Call, "query">;
  readonly body: Part<Call, "body">;
  /** `raw` routes speak a protocol of their own. */
  readonly kind: "json" | "sse" | "raw";
  readonly status: number;
  readonly response: Part<Call, "response">;
  readonly event: Part<Call, "event">;
  /** How the events are written: our chunks with `id:`, or in the way of another protocol. */
  readonly events?: "chunks" | "ui-message" | "openai";
}

/** Any route, for code that goes over the table. */
export interface AnyRoute {
  readonly method: Method;
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly owner: Ownership;
  readonly grant?: Grant;
  readonly threadAt: readonly string[];
  readonly params: Shape<unknown> | undefined;
  readonly query: Shape<unknown> | undefined;
  readonly body: Shape<unknown> | undefined;
  readonly kind: "json" | "sse" | "raw";
  readonly status: number;
  readonly response: Shape<unknown> | undefined;
  readonly event: Shape<unknown> | undefined;
  readonly events?: "chunks" | "ui-message" | "openai";
}

type Given<Call> = {
  [
    Key in "params" | "query" | "body" | "response" | "event" as Call extends { [K in Key]: unknown }
      ? Key
      : never
  ]: Part<Call, Key>;
};

/** Fills in what most routes have: `POST` and `GET` answer JSON with 200. */
export function route<Call extends RouteCall>(
  definition: Pick<Route, "method" | "path" | "tag" | "summary" | "owner"> &
    Partial<Pick<AnyRoute, "grant" | "kind" | "status" | "events" | "threadAt">> &
    Given<Call>,
): Route<Call> {
  const parts = definition as Partial<AnyRoute>;
  return {
    kind: parts.event ? "sse" : "json",
    status: 200,
    threadAt: ["params.threadId", "body.threadId"],
    params: undefined,
    query: undefined,
    body: undefined,
    response: undefined,
    event: undefined,
    ...(parts.event && { events: "chunks" as const }),
    ...definition,
  } as unknown as Route<Call>;
}
