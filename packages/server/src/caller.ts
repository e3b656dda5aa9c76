import { AgentError } from "@selvedge/core";
import { checkId } from "@selvedge/core/storage";
import type { Grant } from "@selvedge/protocol/routes";

/** Who sent a request, as the app's authoriser says. */
export interface Caller {
  /** Whose threads these are. What a request says about it does not count. */
  resourceId: string;
  /** What the caller may do beyond talking on its own threads. Nothing, when absent. */
  grants?: readonly Grant[] | "all" | undefined;
  /** Values for dynamic arguments and tools of the runs this request starts. */
  requestContext?: Record<string, unknown> | undefined;
}

/** `null` or `undefined` means: not let in. */
export type Authorize = (request: Request) => Awaitable<Caller | null | undefined>;

type Awaitable<Value> = Value | Promise<Value>;

/** A caller inside the server. Without an authoriser there is one who may do everything, on everybody's threads. */
export class Principal {
  /** `undefined`: any. */
  readonly resourceId: string | undefined;
  readonly requestContext: Record<string, unknown>;
  readonly #grants: ReadonlySet<string> | "all";

  constructor(caller: Caller | undefined) {
    this.resourceId = caller && checkId("resourceId", caller.resourceId);
    this.requestContext = caller?.requestContext ?? {};
    const grants = caller ? (caller.grants ?? []) : "all";
    this.#grants = grants === "all" ? "all" : new Set(grants);
  }

  /** Nobody asks who this is. */
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
