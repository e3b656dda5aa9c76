import { id, object, type Shape, type TypeOf } from "./shape.ts";

/** What a caller may do beyond using its own threads. */
export type Grant =
  /** Send system signals, state and notifications: what a model trusts more than user messages. */
  | "signals"
  /** Set options that change the agent's instructions or model call: instructions, model, system messages. */
  | "run-options"
  /** Run tools directly. */
  | "tools"
  /** Approve a tool that requires approval, outside a run. */
  | "approve-tools"
  /**
   * Change the state, rules and grants of a session, use models outside the catalogue, and execute a workflow again from
   * a chosen step.
   */
  | "control"
  | "mcp"
  | "vectors"
  /** Read instructions and other internals of agents. */
  | "inspect";

/**
 * Who owns a route's subject, and so what is checked before its handler runs.
 *
 * - `public`: no one; available to everyone.
 * - `app`: the same for every admitted caller.
 * - `grant`: the app, for callers with the grant.
 * - `resource`: the caller; lists are restricted to it.
 * - `thread`: the owner of the thread in `threadId`; for other callers it does not exist.
 * - `new-thread`: the same, and a thread that does not exist yet becomes the caller's.
 * - `run`: the owner of the thread of the run in `runId`.
 * - `session`: the owner of the session `sessionId` of the controller `controllerId`.
 * - `response`: the owner of the stored response in `responseId`.
 * - `workflow-run`: the owner of the run `runId` of the workflow `workflowId`.
 * - `new-workflow-run`: the same, and a run that does not exist yet becomes the caller's.
 * - `schedule`: the owner of the schedule in `scheduleId`; for one of the app, callers with the grant `inspect`.
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
  | "response"
  | "workflow-run"
  | "new-workflow-run"
  | "schedule";

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "ALL";

/** The rest of a route's row, after its method and path. */
interface Definition {
  readonly summary: string;
  readonly owner: Ownership;
  /** Required to call it at all. */
  readonly grant?: Grant;
  /** It can start a run, so it counts against the caller's run limit. */
  readonly startsRun?: boolean;
  /** Where the thread id is; the first match wins. */
  readonly threadAt?: readonly string[];
  readonly query?: Shape;
  readonly body?: Shape;
  /** The JSON response. A route with neither this nor `event` has its own protocol. */
  readonly response?: Shape;
  /** The `data` of one event, for a route that streams. */
  readonly event?: Shape;
  /** The event format: our chunks with `id:`, or another protocol's. */
  readonly events?: "chunks" | "ui-message" | "openai";
}

/** One row of the route table. Server, client and OpenAPI are generated from it. */
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

/** The inputs and outputs of a route. */
export type CallOf<R> = {
  [
    Part in "params" | "query" | "body" | "response" | "event" as R extends { readonly [K in Part]: Shape }
      ? Part
      : never
  ]: R extends { readonly [K in Part]: infer S } ? TypeOf<S> : never;
};

/** Creates the rows of a table. The parameters of a route are in its path. */
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
