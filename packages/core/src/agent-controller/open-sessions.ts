import { toError } from "@selvedge/protocol/session";
import { AgentError } from "../errors.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { checkId } from "../storage/check-id.ts";
import { defaultMode } from "./check-config.ts";
import type { AgentControllerWorkspace, CreateSessionOptions } from "./config.ts";
import type { ControllerHost } from "./controller-host.ts";
import { modeOf } from "./run-profile.ts";
import { Session } from "./session.ts";
import type { StoredSession } from "./session-domain.ts";
import { SessionLeases } from "./session-leases.ts";
import { failed, type Workspaces } from "./workspaces.ts";

/** The sessions that are open in this process. */
export class OpenSessions<State extends object> {
  readonly #host: ControllerHost;
  readonly #workspaces: Workspaces;
  readonly #open = new Map<string, Promise<Session<State>>>();
  /** Sessions that stay open until they are deleted or the controller ends. */
  readonly #kept = new Set<string>();
  readonly #leases: SessionLeases;
  /** The process's own session. */
  readonly own: Session<State>;
  #destroyed = false;

  constructor(host: ControllerHost, workspaces: Workspaces) {
    this.#host = host;
    this.#workspaces = workspaces;
    this.#leases = new SessionLeases(
      () => host.system,
      (id) => this.#closeUnused(id),
    );
    this.own = this.#session(host.rows.own(), host.config.id);
  }

  /** Its runs have ended: a message would never be answered. */
  checkAlive(): void {
    if (this.#destroyed)
      throw new AgentError(
        "not-found",
        `Controller "${this.#host.config.id}" was destroyed. Create a new one.`,
      );
  }

  async keep(options: CreateSessionOptions): Promise<Session<State>> {
    this.checkAlive();
    this.#kept.add(checkId("id", options?.id));
    return this.#opened(options);
  }

  async lease(options: CreateSessionOptions): Promise<{ session: Session<State>; release: () => void }> {
    this.checkAlive();
    const release = this.#leases.take(checkId("id", options?.id));
    try {
      return { session: await this.#opened(options), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  async delete(id: string): Promise<void> {
    const session = await this.#open.get(id)?.catch(() => undefined);
    session?.abort();
    const existed = await this.#host.rows.delete(id);
    await session?.core.close();
    this.#open.delete(id);
    this.#kept.delete(id);
    if (!existed) throw new AgentError("not-found", `There is no session "${id}".`);
  }

  /** The session with the id of a row, if it is open here. */
  async find(rowId: string): Promise<Session<State> | undefined> {
    if (this.own.core.row.id === rowId) return this.own;
    return this.#open.get(rowId)?.catch(() => undefined);
  }

  async destroy(): Promise<void> {
    this.#destroyed = true;
    this.#leases.stop();
    await this.own.core.close();
    for (const opened of await Promise.allSettled(this.#open.values()))
      if (opened.status === "fulfilled") await opened.value.core.close();
    this.#open.clear();
  }

  async #opened(options: CreateSessionOptions): Promise<Session<State>> {
    const { id } = options;
    const known = this.#open.get(id);
    if (known) {
      const session = await known;
      if (!session.core.isClosed) {
        this.#host.rows.requireOwner(session.core.row, options);
        return session;
      }
      if (this.#open.get(id) === known) this.#open.delete(id);
      return this.#opened(options);
    }
    const created = this.#create(options);
    this.#open.set(id, created);
    created.catch(() => this.#open.get(id) === created && this.#open.delete(id));
    return created;
  }

  async #create(options: CreateSessionOptions): Promise<Session<State>> {
    const { id, requestContext = new RequestContext() } = options;
    const { rows } = this.#host;
    const { row, isNew } = await rows.findOrCreate(options);
    const [workspace, browser] = await Promise.allSettled([
      Promise.resolve(options.workspace ?? this.#workspaces.of(id, requestContext)),
      Promise.resolve(options.browser ?? this.#workspaces.browser(requestContext)),
    ]);
    const session = this.#session(row, id, { workspace: valueOf(workspace), browser: valueOf(browser) });
    const { bus } = session.core;
    try {
      await session.core.ready();
      await this.#settle(session, options.threadId);
    } catch (error) {
      await session.core.close();
      if (isNew) await (await rows.domain()).forgetNew(row);
      throw error;
    }
    if (workspace.status === "rejected") failed(bus, workspace.reason);
    else if (workspace.value) await this.#workspaces.start(bus, workspace.value);
    if (browser.status === "rejected") bus.emit({ type: "error", error: toError(browser.reason) });
    return session;
  }

  #session(
    seed: StoredSession,
    publicId: string,
    own: { workspace?: AgentControllerWorkspace | undefined; browser?: object | undefined } = {},
  ): Session<State> {
    const { browser } = this.#host.config;
    return new Session<State>(this.#host, seed, {
      publicId,
      memory: () => this.#host.memoryOf(modeOf(this.#host.config, seed.modeId).id),
      workspace: own.workspace ?? this.#workspaces.shared,
      browser: own.browser ?? (typeof browser === "function" ? undefined : browser),
    });
  }

  /** A session has a thread and a mode that exist. */
  async #settle({ core, thread }: Session<State>, threadId: string | undefined): Promise<void> {
    const { config } = this.#host;
    const { modeId } = core.row;
    if (!config.modes.some((mode) => mode.id === modeId)) {
      const mode = defaultMode(config);
      await core.change(async () => ({ patch: { modeId: mode.id } }));
      const message = `Mode "${modeId}" no longer exists. The session now uses mode "${mode.id}".`;
      core.bus.emit({ type: "info", message });
    }
    if (threadId !== undefined) return void (await thread.goTo(threadId));
    if (core.threadId === undefined || !(await thread.getById({ threadId: core.threadId })))
      await thread.selectOrCreate();
    else await core.thread.lock.moveTo(core.threadId, async () => {});
  }

  #closeUnused(id: string): void {
    const opened = this.#open.get(id);
    if (this.#kept.has(id)) return;
    void opened?.then(
      async ({ core }) => {
        // What it has under way may need what the session holds.
        if (core.thread.activeRunId !== null) return this.#leases.take(id)();
        if (this.#open.get(id) === opened) this.#open.delete(id);
        await core.close();
      },
      () => {},
    );
  }
}

function valueOf<Value>(result: PromiseSettledResult<Value>): Value | undefined {
  return result.status === "fulfilled" ? result.value : undefined;
}
