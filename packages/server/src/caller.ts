import { AgentError } from "@selvedge/core";
import { checkId } from "@selvedge/core/storage";
import type { Grant } from "@selvedge/protocol/routes";

/** The sender of a request, as identified by the app's authoriser. */
export interface Caller {
  /** The owner of the threads. Whatever the request says about the owner is ignored. */
  resourceId: string;
  /** What the caller may do beyond using its own threads. Default: nothing. */
  grants?: readonly Grant[] | "all" | undefined;
  /** Request context for dynamic arguments and tools of the runs this request starts. */
  requestContext?: Record<string, unknown> | undefined;
}

/** `null` or `undefined` refuses the request. */
export type Authorize = (request: Request) => Awaitable<Caller | null | undefined>;

type Awaitable<Value> = Value | Promise<Value>;

/** A caller inside the server. Without an authoriser, every caller may do everything on all threads. */
export class Principal {
  /** `undefined` means any resource. */
  readonly resourceId: string | undefined;
  readonly requestContext: Record<string, unknown>;
  readonly #grants: ReadonlySet<string> | "all";

  constructor(caller: Caller | undefined) {
    this.resourceId = caller && checkId("resourceId", caller.resourceId);
    this.requestContext = caller?.requestContext ?? {};
    const grants = caller ? (caller.grants ?? []) : "all";
    this.#grants = grants === "all" ? "all" : new Set(grants);
  }

  /** Without an authoriser, callers are not identified. */
  get isTrusted(): boolean {
    return this.resourceId === undefined;
  }

  has(grant: Grant): boolean {
    return this.#grants === "all" || this.#grants.has(grant);
  }

  require(grant: Grant, what: string): void {
    if (this.has(grant)) return;
    throw new AgentError("forbidden", `${what} needs the grant "${grant}".`);
  }
}

export async function identify(authorize: Authorize | undefined, request: Request): Promise<Principal> {
  if (!authorize) return new Principal(undefined);
  const caller = await authorize(request);
  if (!caller) throw new AgentError("unauthorized", "This server could not authenticate you.");
  return new Principal(caller);
}
