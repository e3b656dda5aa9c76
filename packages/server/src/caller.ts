import { AgentError } from "@selvedge/core";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
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

  /** `said` is the request context that the host's middleware set. It may name the owner, too. */
  constructor(caller: Caller | undefined, said: Record<string, unknown> = {}) {
    const { [RESOURCE_ID_KEY]: named = caller?.resourceId, ...rest } = said;
    this.resourceId = named === undefined ? undefined : checkId("resourceId", named);
    this.requestContext = { ...caller?.requestContext, ...rest };
    const grants = this.resourceId === undefined ? "all" : (caller?.grants ?? []);
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

export async function identify(
  authorize: Authorize | undefined,
  request: Request,
  said?: Record<string, unknown>,
): Promise<Principal> {
  if (!authorize) return new Principal(undefined, said);
  const caller = await authorize(request);
  if (!caller) throw new AgentError("unauthorized", "This server could not authenticate you.");
  return new Principal(caller, said);
}
