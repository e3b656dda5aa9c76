import { AgentError } from "@selvedge/core/errors";
import {
  type BrowserCloseReason,
  type BrowserOptions,
  type BrowserState,
  MastraBrowser,
} from "@selvedge/core/browser";
import { createTool, type Tool, type ToolExecutionOptions, type ToolsInput } from "@selvedge/core/tools";
import type { Workspace, WorkspaceFilesystem } from "@selvedge/core/workspace";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContextOptions } from "playwright-core";
import { type AddressRuleOptions, AddressRules } from "./address-rules.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { launchChromium } from "./launch-chromium.ts";
import { ThreadSession } from "./thread-session.ts";
import { fault, toFailure } from "./tool-fault.ts";
import {
  clickTool,
  dialogTool,
  dragTool,
  evaluateTool,
  pressTool,
  selectTool,
  typeTool,
} from "./tools/acting-tools.ts";
import type { BrowserTool, ToolCall } from "./tools/browser-tool.ts";
import { backTool, closeTool, gotoTool, tabsTool, waitTool } from "./tools/navigation-tools.ts";
import { hoverTool, screenshotTool, scrollTool, snapshotTool } from "./tools/reading-tools.ts";

export interface AgentBrowserOptions extends BrowserOptions, AddressRuleOptions {
  /** Tools that the agent does not get, by name. */
  excludeTools?: readonly string[];
  /** The path of Chromium, Chrome or Edge. Default: the first in the usual places. */
  executablePath?: string;
  /** Save downloads: `true` in the workspace of the agent, or in the given filesystem. Default: false. */
  downloads?: boolean | WorkspaceFilesystem;
  /** Chromium's own sandbox. It does not work as root. Default: true. */
  chromiumSandbox?: boolean;
  /** How many threads can have a browser open at once. Default: 8. */
  maxContexts?: number;
  /** The browser of a thread closes after this many milliseconds without a call. Default: 600,000. */
  idleMs?: number;
}

const TOOLS: readonly BrowserTool[] = [
  gotoTool,
  snapshotTool,
  screenshotTool,
  clickTool,
  typeTool,
  pressTool,
  selectTool,
  scrollTool,
  hoverTool,
  backTool,
  dialogTool,
  waitTool,
  tabsTool,
  dragTool,
  evaluateTool,
  closeTool,
];

const SHARED = "shared";
const LAUNCH_MS = 60_000;
const GRACE_MS = 10_000;
/** When there is no room for another thread, one that was idle for this long makes room. */
const EVICT_MS = 30_000;

/** A browser for agents, on Playwright and an installed Chromium. All its traffic passes a proxy in this process. */
export class AgentBrowser extends MastraBrowser {
  readonly provider = "playwright";
  readonly #options: AgentBrowserOptions;
  readonly #rules: AddressRules;
  readonly #timeout: number;
  readonly #sessions = new Map<string, Promise<ThreadSession>>();
  readonly #timers = new Map<string, () => void>();
  #chromium: Browser | undefined;
  #calls = 0;
  #proxy: EgressProxy | undefined;
  #downloadsFolder: string | undefined;
  #tools: ToolsInput | undefined;

  constructor(options: AgentBrowserOptions = {}) {
    super({ name: "agent-browser", ...options });
    const unknown = options.excludeTools?.filter((name) => !TOOLS.some((tool) => tool.name === name)) ?? [];
    if (unknown.length > 0)
      throw new AgentError(
        "invalid-argument",
        `excludeTools names unknown tools: ${unknown.join(", ")}. The tools are ${TOOLS.map(({ name }) => name).join(", ")}.`,
      );
    this.#options = options;
    this.#rules = new AddressRules(options);
    this.#timeout = options.timeout ?? 30_000;
  }

  isBrowserRunning(): boolean {
    return this.#chromium?.isConnected() ?? false;
  }

  hasThreadSession(threadId: string): boolean {
    return this.#sessions.has(this.sessionKey(threadId));
  }

  getTools(): ToolsInput {
    const { excludeTools = [] } = this.#options;
    this.#tools ??= Object.fromEntries(
      TOOLS.filter(({ name }) => !excludeTools.includes(name)).map((tool) => [tool.name, this.#expose(tool)]),
    );
    return this.#tools;
  }

  async getState(threadId: string | undefined = this.getCurrentThread()): Promise<BrowserState | undefined> {
    if (threadId === undefined && this.scope === "thread") return undefined;
    const session = this.#sessions.get(this.sessionKey(threadId ?? SHARED));
    return (await session?.catch(() => undefined))?.state();
  }

  async closeThreadSession(threadId: string, reason: BrowserCloseReason | undefined = "user"): Promise<void> {
    await this.#closeSession(this.sessionKey(threadId), reason);
  }

  protected async launch(): Promise<void> {
    const { cdpUrl, headless = true, viewport, downloads = false } = this.#options;
    this.#proxy ??= await EgressProxy.start(this.#rules);
    if (downloads) this.#downloadsFolder ??= await mkdtemp(join(tmpdir(), "selvedge-downloads-"));
    if (cdpUrl === undefined) {
      this.#chromium = await launchChromium({
        executablePath: this.#options.executablePath,
        chromiumSandbox: this.#options.chromiumSandbox ?? true,
        headless,
        timeout: LAUNCH_MS,
        proxyUrl: this.#proxy.url,
        downloadsPath: this.#downloadsFolder,
        fitWindow: viewport === "window",
      });
    } else {
      const { chromium } = await import("playwright-core");
      this.#chromium = await chromium.connectOverCDP(cdpUrl, { timeout: LAUNCH_MS });
    }
    const launched = this.#chromium;
    launched.on("disconnected", () => this.#chromium === launched && this.#crashed());
  }

  protected async shutdown(): Promise<void> {
    const chromium = this.#chromium;
    this.#chromium = undefined;
    await Promise.all([...this.#sessions.keys()].map((key) => this.#closeSession(key, "user")));
    await chromium?.close().catch(() => {});
    this.#proxy?.close();
    this.#proxy = undefined;
    if (this.#downloadsFolder !== undefined)
      await rm(this.#downloadsFolder, { recursive: true, force: true });
    this.#downloadsFolder = undefined;
  }

  #crashed(): void {
    this.#chromium = undefined;
    for (const key of this.#sessions.keys()) this.#forget(key, "error");
  }

  #forget(key: string, reason: BrowserCloseReason | undefined): void {
    this.#timers.get(key)?.();
    this.#timers.delete(key);
    this.#sessions.delete(key);
    this.noteClosed(key, reason);
  }

  async #closeSession(key: string, reason: BrowserCloseReason | undefined): Promise<void> {
    const session = this.#sessions.get(key);
    if (!session) return;
    this.#forget(key, reason);
    await (await session.catch(() => undefined))?.close();
  }

  #expose(tool: BrowserTool): Tool {
    return createTool({
      id: tool.name,
      description: tool.description,
      inputSchema: tool.inputSchema,
      idempotent: tool.idempotent ?? false,
      ...(tool.asks && { requireApproval: true }),
      ...(tool.toModelOutput && { toModelOutput: tool.toModelOutput }),
      execute: (argument, options) => {
        const input = (argument as { context: Record<string, unknown> }).context;
        return this.#call(tool, input, options);
      },
    }) as Tool;
  }

  /** Runs a tool on the pages of its thread. A page's fault is a result, not an error. */
  async #call(
    tool: BrowserTool,
    input: Record<string, unknown>,
    options: ToolExecutionOptions,
  ): Promise<Record<string, unknown>> {
    // A run without a thread also has its own pages.
    const key = this.sessionKey(options.threadId ?? `run ${options.runId ?? options.toolCallId}`);
    const acts = tool.category === "execute";
    let chromium: Browser | undefined;
    this.#calls++;
    try {
      const session = await this.#session(key);
      chromium = this.#chromium;
      session.files = await this.#filesFor(options);
      return await session.run(async () => {
        try {
          return await this.#perform(tool, session, key, input);
        } catch (error) {
          const crashed = session.hasCrashed || chromium?.isConnected() === false;
          return { ...toFailure(error, { acts, crashed }), ...(await noticesOf(session)) };
        }
      });
    } catch (error) {
      return { ...toFailure(error, { acts, crashed: chromium?.isConnected() === false }) };
    } finally {
      this.#calls--;
      this.#startIdleTimer(key);
    }
  }

  async #perform(
    tool: BrowserTool,
    session: ThreadSession,
    key: string,
    input: Record<string, unknown>,
  ): Promise<Record<string, unknown>> {
    const call: ToolCall = {
      session,
      system: this.system,
      timeout: this.#timeout,
      refusalOf: (url) => this.#proxy?.refusalOf(url),
      checkAddress: (url) => this.#checkAddress(url),
      closeSession: () => this.#closeSession(key, "agent"),
    };
    // Operations have their own limits. A call that exceeds them all hangs with its page.
    const limit = Number(input["timeout"] ?? this.#timeout) + this.#timeout + GRACE_MS;
    const cancel = this.system.setTimer(limit, () => void session.dropPage());
    const result = await tool.run(call, input as never).finally(cancel);
    if (!this.#sessions.has(key)) return { success: true, ...result };
    return { success: true, ...(await session.where()), ...result, ...(await noticesOf(session)) };
  }

  /** A browser that was already running does not use our proxy for its own pages. */
  async #checkAddress(url: URL): Promise<string | undefined> {
    if (this.#options.cdpUrl === undefined || url.protocol === "about:") return undefined;
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    const admission = await this.#rules.admit(url.hostname, port);
    return "refused" in admission ? admission.refused : undefined;
  }

  async #filesFor({
    workspace,
    requestContext,
  }: ToolExecutionOptions): Promise<WorkspaceFilesystem | undefined> {
    const { downloads = false } = this.#options;
    if (typeof downloads === "object") return downloads;
    return downloads
      ? (workspace as Workspace | undefined)?.resolveFilesystem({ requestContext })
      : undefined;
  }

  async #session(key: string): Promise<ThreadSession> {
    await this.ensureReady();
    this.#timers.get(key)?.();
    const open = this.#sessions.get(key);
    if (open) return open;
    await this.#makeRoom();
    const opened = this.#sessions.get(key) ?? this.#open();
    this.#sessions.set(key, opened);
    opened.catch(() => this.#sessions.get(key) === opened && this.#sessions.delete(key));
    this.noteClosed(key, undefined);
    return opened;
  }

  async #open(): Promise<ThreadSession> {
    const { cdpUrl, headless = true, viewport = { width: 1280, height: 720 } } = this.#options;
    const chromium = this.#chromium!;
    const options: BrowserContextOptions = {
      viewport: viewport === "window" ? null : viewport,
      acceptDownloads: this.#downloadsFolder !== undefined,
      ...(cdpUrl !== undefined && { proxy: { server: this.#proxy!.url, bypass: "<-loopback>" } }),
    };
    const existing = this.scope === "shared" ? chromium.contexts()[0] : undefined;
    const context = existing ?? (await chromium.newContext(options));
    // An empty list denies what a page would otherwise ask for.
    if (!existing) await context.grantPermissions([]);
    return new ThreadSession(context, {
      system: this.system,
      timeout: this.#timeout,
      isBorrowed: existing !== undefined,
      hasUser: !headless || cdpUrl !== undefined,
      downloadsFolder: this.#downloadsFolder,
      refusalOf: (url) => this.#proxy?.refusalOf(url),
    });
  }

  /** Closes the session that was idle longest, or refuses. */
  async #makeRoom(): Promise<void> {
    const { maxContexts = 8 } = this.#options;
    if (this.#sessions.size < maxContexts) return;
    const now = this.system.monotonic();
    const open = await Promise.all(
      [...this.#sessions].map(async ([key, session]) => ({ key, session: await session })),
    );
    const [oldest] = open
      .filter(({ session }) => !session.isBusy && now - session.lastUsed >= EVICT_MS)
      .toSorted((a, b) => a.session.lastUsed - b.session.lastUsed);
    if (!oldest)
      throw fault(
        "too-many-browsers",
        `${maxContexts} other conversations have a browser open, which is the limit (maxContexts).`,
        "Try again in a minute.",
      );
    await this.#closeSession(oldest.key, undefined);
  }

  #startIdleTimer(key: string): void {
    this.#timers.get(key)?.();
    const { idleMs = 600_000 } = this.#options;
    const close = async (): Promise<void> => {
      const session = await this.#sessions.get(key);
      if (session?.isBusy) return;
      this.#timers.delete(key);
      await this.#closeSession(key, undefined);
      if (this.#sessions.size === 0 && this.#calls === 0) await this.close();
    };
    this.#timers.set(
      key,
      this.system.setTimer(idleMs, () => void close().catch(() => {}), { background: true }),
    );
  }
}

async function noticesOf(session: ThreadSession): Promise<{ notices?: string[] }> {
  const notices = await session.takeNotices();
  return notices.length > 0 ? { notices } : {};
}
