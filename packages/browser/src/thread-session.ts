import { errorMessage } from "@selvedge/core/errors";
import type { System } from "@selvedge/core/memory";
import type { BrowserState } from "@selvedge/core/browser";
import type { WorkspaceFilesystem } from "@selvedge/core/workspace";
import type { BrowserContext, CDPSession, Dialog, Download, Locator, Page, Request } from "playwright-core";
import { quoted } from "./page-text.ts";
import { saveDownload } from "./save-download.ts";
import { fault } from "./tool-fault.ts";
import { within } from "./within.ts";

const MAX_TABS = 20;
const MAX_DIALOGS = 20;
const MAX_NOTICES = 20;
const MAX_URL = 2000;
const MAX_TITLE = 200;
const DESCRIBE_MS = 2000;
/** Schemes of pages that a site may open itself. */
const PAGE_SCHEME = /^(?:https?|about|blob|chrome-error):/;

export interface SessionOptions {
  system: System;
  timeout: number;
  /** The pages belong to a browser that others started: they stay open. */
  isBorrowed: boolean;
  /** A person can use the same window. */
  hasUser: boolean;
  downloadsFolder: string | undefined;
  refusalOf(url: string): string | undefined;
}

/** How to answer the next dialog, and the dialog once it was answered. */
export interface DialogAnswer {
  action: "accept" | "dismiss";
  text?: string | undefined;
  seen?: { type: string; message: string };
}

/** The pages of one thread, with its own cookies, tabs, dialogs and downloads. Calls run one after the other. */
export class ThreadSession {
  readonly #context: BrowserContext;
  readonly #options: SessionOptions;
  readonly #ids = new WeakMap<Page, string>();
  readonly #inspectors = new WeakMap<Page, Promise<CDPSession>>();
  readonly #downloads = new Set<Promise<void>>();
  #notices: string[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #active: Page | undefined;
  #snapshotOf: Page | undefined;
  #tabCount = 0;
  #dialogCount = 0;
  #navigations = 0;
  #crashed = false;
  #agentUrl: string | undefined;
  #waiting = 0;
  #answer: DialogAnswer | undefined;
  /** Where downloads are saved; set by each call. */
  files: WorkspaceFilesystem | undefined;
  lastUsed: number;

  constructor(context: BrowserContext, options: SessionOptions) {
    this.#context = context;
    this.#options = options;
    this.lastUsed = options.system.monotonic();
    for (const page of context.pages()) this.#adopt(page);
    context.on("page", (page) => this.#adopt(page));
    context.on("pageclose", (page) => page === this.#active && (this.#active = undefined));
    context.on("dialog", (dialog) => void this.#onDialog(dialog).catch(() => {}));
    context.on("download", (download) => this.#onDownload(download));
    context.on("request", (request) => this.#isNavigation(request) && this.#navigations++);
    context.on("response", (response) => {
      if (response.status() === 403 && this.#isNavigation(response.request()))
        this.#noteRefusal(response.url());
    });
    context.on("requestfailed", (request) => {
      if (this.#isNavigation(request)) this.#noteRefusal(request.url());
    });
  }

  /** Runs one call after those before it. */
  run<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#waiting++;
    const result = this.#queue.then(async () => {
      this.#dialogCount = 0;
      this.#crashed = false;
      try {
        return await work();
      } finally {
        this.#waiting--;
        this.lastUsed = this.#options.system.monotonic();
      }
    });
    this.#queue = result.catch(() => {});
    return result;
  }

  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  get tabs(): Page[] {
    return this.#context.pages();
  }

  /** The page that calls work on. The first is opened when it is needed. */
  async page(): Promise<Page> {
    if (!this.#active || this.#active.isClosed()) {
      this.#active = this.tabs.at(-1) ?? (await this.#context.newPage());
      this.#adopt(this.#active);
    }
    return this.#active;
  }

  async newTab(): Promise<Page> {
    this.#active = await this.#context.newPage();
    return this.#active;
  }

  async switchTo(page: Page): Promise<void> {
    this.#active = page;
    await page.bringToFront();
  }

  /** Marks the refs of a page as those the model has seen. */
  snapshotTaken(page: Page): void {
    this.#snapshotOf = page;
  }

  /** The element of a ref. Refuses one that the last snapshot of this tab does not have, or that is gone. */
  async element(ref: string): Promise<Locator> {
    const found = await this.findElement(ref);
    if (found) return found;
    throw fault(
      "stale-ref",
      `Ref ${JSON.stringify(ref)} is not in the latest snapshot of this tab, or the element is gone.`,
      "Take a new snapshot with browser_snapshot and use a ref from it.",
    );
  }

  async findElement(ref: string): Promise<Locator | undefined> {
    const name = /^@?((?:f\d+)*e\d+)$/.exec(ref)?.[1];
    if (name === undefined)
      throw fault(
        "invalid-ref",
        `${quoted(ref)} is not a ref.`,
        'Refs look like "e5" or "f1e3" and come from browser_snapshot.',
      );
    const page = await this.page();
    if (page !== this.#snapshotOf) return undefined;
    const locator = page.getByRef(name);
    const count = await within(this.#options.system, this.#options.timeout, locator.count()).catch(
      (error) => {
        if (/Invalid frame/.test(errorMessage(error))) return 0;
        throw error;
      },
    );
    return count === 1 ? locator : undefined;
  }

  /** Runs an action, then waits for the navigation that it started, if any. */
  async act(
    work: () => Promise<unknown>,
    { waitUntil, timeout = this.#options.timeout }: { waitUntil?: WaitUntil; timeout?: number } = {},
  ): Promise<void> {
    const page = await this.page();
    const before = this.#navigations;
    await work();
    const { system } = this.#options;
    const deadline = system.monotonic() + (waitUntil ? EXPECTED_NAVIGATION_MS : NAVIGATION_MS);
    while (this.#navigations === before && !page.isClosed() && system.monotonic() < deadline)
      await new Promise<void>((resolve) => void system.setTimer(CHECK_MS, resolve));
    if (page.isClosed() || (this.#navigations === before && !waitUntil)) return;
    await page.waitForLoadState(waitUntil ?? "domcontentloaded", { timeout });
  }

  /** Answers the next dialog while `work` runs. */
  async answering(answer: DialogAnswer, work: () => Promise<void>): Promise<void> {
    this.#answer = answer;
    try {
      await work();
    } finally {
      this.#answer = undefined;
    }
  }

  /** Where the thread is, for the result of a call. */
  async where(): Promise<{ url: string; title: string }> {
    const page = await this.page();
    await this.#leaveLocalPage(page);
    this.#agentUrl = page.url();
    return this.#describe(page);
  }

  /** What happened besides the call itself, since the last time this was asked. */
  async takeNotices(): Promise<string[]> {
    await Promise.all(this.#downloads);
    const notices = this.#notices;
    this.#notices = [];
    return notices;
  }

  note(notice: string): void {
    if (this.#notices.length < MAX_NOTICES) this.#notices.push(notice);
  }

  /** Whether a page crashed during this call. */
  get hasCrashed(): boolean {
    return this.#crashed;
  }

  /** Closes a tab that no longer responds. */
  async dropPage(): Promise<void> {
    const page = this.#active;
    this.#active = undefined;
    this.note("The tab was closed, because it did not respond.");
    if (page) await within(this.#options.system, DESCRIBE_MS, page.close()).catch(() => {});
  }

  async state(): Promise<BrowserState | undefined> {
    const { tabs } = this;
    if (tabs.length === 0) return undefined;
    const active = this.#active && !this.#active.isClosed() ? this.#active : tabs.at(-1)!;
    const described = await Promise.all(tabs.map((page) => this.#describe(page)));
    const currentUrl = active.url();
    const urlChangedBy = currentUrl === this.#agentUrl ? "agent" : this.#options.hasUser ? "user" : undefined;
    return {
      currentUrl,
      tabs: tabs.map((page, at) => ({ id: this.#ids.get(page) ?? "", ...described[at]! })),
      activeTabIndex: tabs.indexOf(active),
      ...(urlChangedBy && { urlChangedBy }),
    };
  }

  async close(): Promise<void> {
    if (this.#options.isBorrowed) await this.#context.removeAllListeners(undefined, { behavior: "default" });
    else await this.#context.close().catch(() => {});
  }

  #adopt(page: Page): void {
    if (this.#ids.has(page)) return;
    if (this.tabs.length > MAX_TABS) {
      this.note(`A new tab was closed at once: a thread can have at most ${MAX_TABS} tabs.`);
      void page.close().catch(() => {});
      return;
    }
    this.#ids.set(page, `tab-${++this.#tabCount}`);
    page.on("crash", () => {
      this.#crashed = true;
      void page.close().catch(() => {});
    });
    if (this.#active && page !== this.#active) this.note("The page opened a new tab. See browser_tabs.");
  }

  async #onDialog(dialog: Dialog): Promise<void> {
    // Leaving a page is the agent's decision, not the page's.
    if (dialog.type() === "beforeunload") return dialog.accept();
    if (++this.#dialogCount > MAX_DIALOGS) {
      this.note(`The tab was closed: it opened more than ${MAX_DIALOGS} dialogs.`);
      const page = dialog.page();
      await Promise.allSettled([page?.close(), dialog.dismiss()]);
      return;
    }
    const answer = this.#answer;
    if (!answer || answer.seen) {
      if (this.#dialogCount === 1)
        this.note(`Dismissed a dialog on the page (${dialog.type()}): ${quoted(dialog.message())}`);
      return dialog.dismiss();
    }
    answer.seen = { type: dialog.type(), message: dialog.message() };
    return answer.action === "accept" ? dialog.accept(answer.text) : dialog.dismiss();
  }

  #onDownload(download: Download): void {
    const name = quoted(download.suggestedFilename());
    const { downloadsFolder: folder, system, timeout } = this.#options;
    const { files } = this;
    if (folder === undefined || !files) {
      this.note(`Refused a download (${name}): ${folder ? "there is no workspace" : "downloads are off"}.`);
      void download.cancel().catch(() => {});
      return;
    }
    const saved = saveDownload(download, { files, folder, system, timeout }).then(
      (path) => this.note(`Saved a download as ${path}.`),
      (error: unknown) => this.note(`A download (${name}) was not saved: ${errorMessage(error)}`),
    );
    this.#downloads.add(saved);
    void saved.finally(() => this.#downloads.delete(saved));
  }

  #noteRefusal(url: string): void {
    const refusal = this.#options.refusalOf(url);
    if (refusal !== undefined) this.note(`A page was not opened: ${refusal}`);
  }

  #isNavigation(request: Request): boolean {
    try {
      return request.isNavigationRequest() && request.frame().parentFrame() === null;
    } catch {
      return false; // A service worker's request has no frame.
    }
  }

  /** No site can open these. If one is shown anyway, its content does not reach the model. */
  async #leaveLocalPage(page: Page): Promise<void> {
    if (PAGE_SCHEME.test(page.url())) return;
    this.note(`Left a page that agents may not see: ${quoted(page.url())}`);
    await page.goto("about:blank").catch(() => {});
  }

  /** Asks the browser, not the page: a page may hang, or have a title of any size. */
  async #describe(page: Page): Promise<{ url: string; title: string }> {
    const url = page.url().slice(0, MAX_URL);
    if (page.isClosed()) return { url, title: "" };
    let inspector = this.#inspectors.get(page);
    if (!inspector) this.#inspectors.set(page, (inspector = this.#context.newCDPSession(page)));
    try {
      const work = inspector.then((session) => session.send("Target.getTargetInfo"));
      const { targetInfo } = await within(this.#options.system, DESCRIBE_MS, work);
      return { url, title: targetInfo.title.slice(0, MAX_TITLE).toWellFormed() };
    } catch {
      return { url, title: "" };
    }
  }
}

export type WaitUntil = "load" | "domcontentloaded" | "networkidle";

/** How long an action may take to start a navigation; longer where the model expects one. */
const NAVIGATION_MS = 100;
const EXPECTED_NAVIGATION_MS = 2000;
const CHECK_MS = 20;
