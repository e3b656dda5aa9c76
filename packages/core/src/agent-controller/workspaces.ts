import { toError } from "@selvedge/protocol/session";
import type { EventBus } from "@selvedge/protocol/session";
import { RequestContext } from "../request-context/request-context.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import type { ControllerHost } from "./controller-host.ts";

/** The workspaces and browsers of a controller's sessions, in this process. */
export class Workspaces {
  readonly #host: ControllerHost;
  readonly #made = new Map<string, Promise<AgentControllerWorkspace | undefined>>();
  readonly #initialized = new Map<AgentControllerWorkspace, Promise<void>>();
  #isReady = false;

  constructor(host: ControllerHost) {
    this.#host = host;
  }

  /** Whether one has started. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** The one that all sessions share, if it is not created per session. */
  get shared(): AgentControllerWorkspace | undefined {
    const { workspace } = this.#host.config;
    return typeof workspace === "function" ? undefined : workspace;
  }

  /** Once per session and process. */
  of(
    sessionId: string,
    requestContext: RequestContext = new RequestContext(),
  ): Promise<AgentControllerWorkspace | undefined> {
    const { config, mastra } = this.#host;
    const { workspace } = config;
    if (typeof workspace !== "function") return Promise.resolve(workspace);
    let made = this.#made.get(sessionId);
    if (!made) {
      made = (async () => workspace({ requestContext, mastra }))();
      this.#made.set(sessionId, made);
      made.catch(() => this.#made.delete(sessionId));
    }
    return made;
  }

  async browser(requestContext: RequestContext): Promise<object | undefined> {
    const { config, mastra } = this.#host;
    const { browser } = config;
    if (typeof browser !== "function") return browser;
    return (browser as (context: object) => object | Promise<object>)({ requestContext, mastra });
  }

  /** A failed start is reported and does not stop the conversation. */
  async start(bus: EventBus, workspace: AgentControllerWorkspace): Promise<void> {
    bus.emit({ type: "workspace_status_changed", status: "initializing" });
    try {
      await this.init(workspace);
    } catch (error) {
      return failed(bus, error);
    }
    this.#isReady = true;
    bus.emit({ type: "workspace_status_changed", status: "ready" });
    bus.emit({ type: "workspace_ready", workspaceId: workspace.id, workspaceName: workspace.name });
  }

  /** Sessions may share a workspace. After a failure, the next session tries again. */
  init(workspace: AgentControllerWorkspace): Promise<void> {
    let begun = this.#initialized.get(workspace);
    if (!begun) {
      begun = (async () => workspace.init())();
      this.#initialized.set(workspace, begun);
      begun.catch(() => this.#initialized.delete(workspace));
    }
    return begun;
  }

  /** Destroys those that the controller created or was given. Those of single sessions belong to their callers. */
  async destroy(): Promise<void> {
    const made = await Promise.allSettled(this.#made.values());
    const own = made.flatMap((result) => (result.status === "fulfilled" ? (result.value ?? []) : []));
    for (const workspace of new Set([...own, ...(this.shared ? [this.shared] : [])]))
      if (this.#initialized.has(workspace)) await workspace.destroy?.();
    this.#initialized.clear();
    this.#made.clear();
    this.#isReady = false;
  }
}

export function failed(bus: EventBus, thrown: unknown): void {
  const error = toError(thrown);
  bus.emit({ type: "workspace_status_changed", status: "error", error });
  bus.emit({ type: "workspace_error", error });
}
