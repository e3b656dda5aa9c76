import type { RequestContext } from "../../request-context/request-context.ts";
import type { WorkspaceSandbox } from "./workspace-sandbox.ts";

export type SandboxResolver = (context: {
  requestContext: RequestContext;
}) => WorkspaceSandbox | Promise<WorkspaceSandbox>;

/** The sandbox of a workspace, or those that a function returned, each once. */
export class ResolvedSandboxes {
  readonly #sandbox: WorkspaceSandbox | SandboxResolver;
  readonly #keyOf: ((context: { requestContext: RequestContext }) => string) | undefined;
  readonly #byKey = new Map<string, Promise<WorkspaceSandbox>>();
  #byContext = new WeakMap<RequestContext, Promise<WorkspaceSandbox>>();

  constructor(
    sandbox: WorkspaceSandbox | SandboxResolver,
    keyOf?: (context: { requestContext: RequestContext }) => string,
  ) {
    this.#sandbox = sandbox;
    this.#keyOf = keyOf;
  }

  /** Undefined if a function chooses it. */
  get fixed(): WorkspaceSandbox | undefined {
    return typeof this.#sandbox === "function" ? undefined : this.#sandbox;
  }

  async of(requestContext: RequestContext): Promise<WorkspaceSandbox> {
    const make = this.#sandbox;
    if (typeof make !== "function") return make;
    const key = this.#keyOf?.({ requestContext });
    const known = key === undefined ? this.#byContext.get(requestContext) : this.#byKey.get(key);
    if (known) return known;
    const made = (async () => make({ requestContext }))();
    if (key === undefined) this.#byContext.set(requestContext, made);
    else this.#byKey.set(key, made);
    made.catch(() => (key === undefined ? this.#byContext.delete(requestContext) : this.#byKey.delete(key)));
    return made;
  }

  clear(key?: string): void {
    if (key !== undefined) return void this.#byKey.delete(key);
    this.#byKey.clear();
    this.#byContext = new WeakMap();
  }
}
