import { type AnyRoute, ROUTES, type RouteCalls, type RouteName } from "@selvedge/protocol/routes";
import { Connection } from "./connection.ts";
import type { RequestInput, Transport } from "./transport.ts";

type Part<Call, Key extends string> = Call extends { [K in Key]: infer Type } ? Type : never;

/** Absent if the route has none; optional if every field is. */
type Input<Call, Key extends "params" | "query" | "body"> = [Part<Call, Key>] extends [never]
  ? { [K in Key]?: never }
  : Record<never, never> extends Part<Call, Key>
    ? { [K in Key]?: Part<Call, Key> }
    : { [K in Key]: Part<Call, Key> };

/** The arguments of a route call. */
export type CallInput<Name extends RouteName> = Input<RouteCalls[Name], "params"> &
  Input<RouteCalls[Name], "query"> &
  Input<RouteCalls[Name], "body"> & { headers?: Record<string, string>; signal?: AbortSignal };

/** The result of a route call: JSON, the events of a stream, or the bare response of a route with its own protocol. */
export type CallResult<Name extends RouteName> = RouteCalls[Name] extends { response: infer Answer }
  ? Answer
  : RouteCalls[Name] extends { event: infer Event }
    ? Connection<Event>
    : Response;

export type CallArguments<Name extends RouteName> =
  Record<never, never> extends CallInput<Name> ? [input?: CallInput<Name>] : [input: CallInput<Name>];

/** Reads, idempotent changes and requests with a key can safely be repeated. */
const REPEATABLE: ReadonlySet<string> = new Set(["GET", "PUT", "PATCH", "DELETE"]);

/** Calls any route of the table. */
export async function call<Name extends RouteName>(
  transport: Transport,
  name: Name,
  input: RequestInput,
  options: { repeatable?: boolean } = {},
): Promise<CallResult<Name>> {
  const route: AnyRoute = ROUTES[name];
  const repeatable =
    options.repeatable ?? (REPEATABLE.has(route.method) || input.headers?.["idempotency-key"] !== undefined);
  return transport.request(route, input, repeatable, (response) => {
    if (route.kind === "json") return response.json() as Promise<CallResult<Name>>;
    if (route.kind === "raw" || response.status === 204) return response as CallResult<Name>;
    const type = response.headers.get("content-type") ?? "";
    if (!type.startsWith("text/event-stream"))
      throw new Error(`its content type is "${type}", not text/event-stream`);
    return new Connection(response) as CallResult<Name>;
  });
}
