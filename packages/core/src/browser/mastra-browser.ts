import { AgentError, showValue } from "../errors.ts";
import { realSystem, type System } from "../system.ts";
import type { ToolsInput } from "../tool/tool.ts";

export type BrowserStatus = "pending" | "launching" | "ready" | "error" | "closing" | "closed";

/** Who closed a thread's browser. `error` is a crash. Absent if it was closed because it was idle. */
export type BrowserCloseReason = "agent" | "user" | "process_restart" | "error";

export interface BrowserTab {
  id: string;
  url: string;
  title: string;
}

export interface BrowserState {
  currentUrl: string;
  tabs: BrowserTab[];
  activeTabIndex: number;
  /** Who last changed the URL, if that is known. */
  urlChangedBy?: "agent" | "user";
}

export interface BrowserOptions {
  id?: string;
  name?: string;
  /** Default: true. */
  headless?: boolean;
  /** `window` uses the size of the window. Default: 1280 x 720. */
  viewport?: { width: number; height: number } | "window";
  /** Milliseconds that one browser operation may take. */
  timeout?: number;
  /** Use a running browser instead of starting one. */
  cdpUrl?: string;
  /** `thread` keeps the cookies and pages of threads apart. Default: `thread`, and `shared` with `cdpUrl`. */
  scope?: "thread" | "shared";
  onLaunch?(event: { browser: MastraBrowser }): void | Promise<void>;
  onClose?(event: { browser: MastraBrowser }): void | Promise<void>;
  /** Not supported yet. */
  screencast?: unknown;
  /** Clock, timers and ids, for tests. */
  system?: System;
}

/** How many threads' close reasons are remembered. */
const MAX_REASONS = 1000;

/** A browser for agents. Extend it to support another browser; `@selvedge/browser` has one for Chromium. */
export abstract class MastraBrowser {
  readonly id: string;
  readonly name: string;
  abstract readonly provider: string;
  /** Differs after a restart, so that a thread can tell that its pages are gone. */
  readonly processId: string;
  readonly scope: "thread" | "shared";
  protected readonly system: System;
  readonly #hooks: Pick<BrowserOptions, "onLaunch" | "onClose">;
  readonly #closeReasons = new Map<string, BrowserCloseReason>();
  #status: BrowserStatus = "pending";
  #launching: Promise<void> | undefined;
  #closing: Promise<void> | undefined;
  #currentThread: string | undefined;

  constructor(options: BrowserOptions = {}) {
    const { system = realSystem, cdpUrl, scope = cdpUrl === undefined ? "thread" : "shared" } = options;
    if (options.screencast)
      throw new AgentError("not-supported", "screencast is not supported yet. Leave it out.");
    if (scope !== "thread" && scope !== "shared")
      throw new AgentError(
        "invalid-argument",
        `scope must be "thread" or "shared", got ${showValue(scope)}.`,
      );
    const { timeout, viewport } = options;
    if (timeout !== undefined && !(timeout >= 0))
      throw new AgentError(
        "invalid-argument",
        `timeout must be a number of milliseconds, got ${showValue(timeout)}.`,
      );
    if (viewport !== undefined && viewport !== "window" && !(viewport?.width > 0 && viewport.height > 0))
      throw new AgentError(
        "invalid-argument",
        `viewport must be { width, height } or "window", got ${showValue(viewport)}.`,
      );
    this.system = system;
    this.scope = scope;
    this.id = options.id ?? system.newId();
    this.name = options.name ?? "browser";
    this.processId = system.newId();
    this.#hooks = options;
  }

  /** Starts the browser. */
  protected abstract launch(): Promise<void>;
  /** Ends the browser and all thread sessions. Must not throw if it is not running. */
  protected abstract shutdown(): Promise<void>;
  abstract isBrowserRunning(): boolean;
  abstract hasThreadSession(threadId: string): boolean;
  abstract closeThreadSession(threadId: string, reason?: BrowserCloseReason): Promise<void>;
  /** The tools for an agent, by name. */
  abstract getTools(): ToolsInput;
  /** `undefined` if the thread has no page open. Default: the current thread. */
  abstract getState(threadId?: string): Promise<BrowserState | undefined>;

  get status(): BrowserStatus {
    return this.#status;
  }

  /** Starts the browser unless it runs. Concurrent calls share one start, and a failed start can be repeated. */
  ensureReady(): Promise<void> {
    if (this.#status === "ready" && this.isBrowserRunning()) return Promise.resolve();
    this.#launching ??= this.#launch().finally(() => (this.#launching = undefined));
    return this.#launching;
  }

  async #launch(): Promise<void> {
    await this.#closing;
    this.#status = "launching";
    try {
      await this.launch();
      this.#status = "ready";
    } catch (error) {
      this.#status = "error";
      throw error;
    }
    await this.#hooks.onLaunch?.({ browser: this });
  }

  /** Ends the browser. The next call of a tool starts it again. */
  close(): Promise<void> {
    this.#closing ??= this.#close().finally(() => (this.#closing = undefined));
    return this.#closing;
  }

  async #close(): Promise<void> {
    if (this.#status === "launching") await this.#launching?.catch(() => {});
    const ran = this.isBrowserRunning();
    this.#status = "closing";
    await this.shutdown();
    this.#status = "closed";
    if (ran) await this.#hooks.onClose?.({ browser: this });
  }

  /** The thread that `getState()` and `getCurrentUrl()` use when called without one. */
  setCurrentThread(threadId: string | undefined): void {
    this.#currentThread = threadId;
  }

  getCurrentThread(): string | undefined {
    return this.#currentThread;
  }

  async getCurrentUrl(threadId?: string): Promise<string | undefined> {
    return (await this.getState(threadId))?.currentUrl;
  }

  /** Why this process closed the thread's browser, if it did. */
  closeReason(threadId: string): BrowserCloseReason | undefined {
    return this.#closeReasons.get(this.sessionKey(threadId));
  }

  /** Threads with the same key share pages and cookies. */
  protected sessionKey(threadId: string): string {
    return this.scope === "shared" ? "shared" : threadId;
  }

  /** Called by a subclass when a session opens (without a reason) or closes. */
  protected noteClosed(key: string, reason: BrowserCloseReason | undefined): void {
    this.#closeReasons.delete(key);
    if (reason === undefined) return;
    this.#closeReasons.set(key, reason);
    if (this.#closeReasons.size > MAX_REASONS)
      this.#closeReasons.delete(this.#closeReasons.keys().next().value!);
  }
}
