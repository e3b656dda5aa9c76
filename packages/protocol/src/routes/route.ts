import { id, object, type Shape, type TypeOf } from "./shape.ts";

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
  /** Change the state, the rules and the grants of a session, and use models outside the catalogue. */
  | "control"
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
 * - `session`: the session in `sessionId` of the controller in `controllerId`.
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
  | "session"
  | "response";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ALL";

/** What a row of the table says about a route, after its method and path. */
interface Definition {
  readonly summary: string;
  readonly owner: Ownership;
  /** Needed to call it at all. */
  readonly grant?: Grant;
  /** It can start a run, and so counts against the caller's limit of runs. */
  readonly startsRun?: boolean;
  /** Where the thread's id stands, first match wins. */
  readonly threadAt?: readonly string[];
  readonly query?: Shape;
  readonly body?: Shape;
  /** What a route that answers JSON answers. A route with neither this nor `event` speaks a protocol of its own. */
  readonly response?: Shape;
  /** What one event's `data` holds, of a route that answers a stream. */
  readonly event?: Shape;
  /** How the events are written: our chunks with `id:`, or in the way of another protocol. */
  readonly events?: "chunks" | "ui-message" | "openai";
}

/** One line of the route table. Server, client and OpenAPI are made from it. */
export interface AnyRoute extends Definition {
  readonly method: Method;
  /** Complete, with parameters as `:name`. */
  readonly path: string;
  readonly tag: string;
  readonly threadAt: readonly string[];
  readonly params?: Shape;
  readonly kind: "json" | "sse" | "raw";
}

type NamesIn<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | NamesIn<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type Params<Path> = [NamesIn<Path>] extends [never]
  ? unknown
  : { readonly params: Shape<{ [Name in NamesIn<Path>]: string }> };

type Route<Tag, Path, Row> = AnyRoute & { readonly tag: Tag } & Row & Params<Path>;

/** What goes in and comes out of a route. */
export type CallOf<R> = {
  [
    Part in "params" | "query" | "body" | "response" | "event" as R extends { readonly [K in Part]: Shape }
      ? Part
      : never
  ]: R extends { readonly [K in Part]: infer S } ? TypeOf<S> : never;
};

/** Makes the rows of a table. The parameters of a route are in its path. */
export function routesOf<const Tag extends string>(
  tag: Tag,
): <const Path extends string, const Row extends Definition>(
  line: `${Method} ${Path}`,
  row: Row,
) => Route<Tag, Path, Row> {
  return <const Path extends string, const Row extends Definition>(line: string, row: Row) => {
    const [method, path = ""] = line.split(" ");
    const names = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name as string);
    const { event, response }: Definition = row;
    return {
      method,
      path,
      tag,
      kind: event ? "sse" : response ? "json" : "raw",
      threadAt: ["params.threadId", "body.threadId"],
      ...(names.length > 0 && { params: object(Object.fromEntries(names.map((name) => [name, id()]))) }),
      ...(event && { events: "chunks" }),
      ...row,
    } as object as Route<Tag, Path, Row>;
  };
}
