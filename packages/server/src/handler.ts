import type { GivenOf, RouteCalls, RouteName, RouteTable } from "@selvedge/protocol/routes";
import type { StoredSession } from "@selvedge/core/agent-controller";
import type { App } from "./app.ts";
import type { Principal } from "./caller.ts";

type Part<Call, Key extends string> = Call extends { [K in Key]: infer Type } ? Type : undefined;

/** A validated request from a caller who owns its subject. */
export interface Call<Name extends RouteName = RouteName> {
  readonly app: App;
  readonly request: Request;
  readonly caller: Principal;
  readonly params: Part<RouteCalls[Name], "params">;
  readonly query: Part<RouteCalls[Name], "query">;
  readonly body: Part<RouteCalls[Name], "body">;
  /** The owner of the request's subject. `undefined` for lists across all owners. */
  readonly resourceId: string | undefined;
  readonly threadId: string | undefined;
  /** Set on routes of workflow runs. */
  readonly runId?: string;
  /** Set on routes of schedules: the id under which it is stored. */
  readonly scheduleId?: string;
  /** Set on session routes. */
  readonly session?: StoredSession;
}

/** What a route may return: anything `JSON.stringify` turns into its response shape, such as a `Date` for a time. */
export type Answer<Name extends RouteName> = RouteTable[Name] extends { readonly response: infer S }
  ? GivenOf<S>
  : never;

/** Returns the value to send as JSON, or its own response. */
type Handler<Name extends RouteName> = (call: Call<Name>) => Promise<Answer<Name> | Response>;

/** The routes with one of these tags. */
export type Tagged<Tag extends string> = {
  [Name in RouteName]: RouteTable[Name] extends { readonly tag: Tag } ? Name : never;
}[RouteName];

/** The compiler checks that every route has a handler. */
export type Handlers<Names extends RouteName = RouteName> = { readonly [Name in Names]: Handler<Name> };

/** The owner, on routes that have one. */
export function ownerOf(call: { readonly resourceId: string | undefined }): string {
  return call.resourceId as string;
}
