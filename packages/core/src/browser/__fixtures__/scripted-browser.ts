import { createTool, type ToolsInput } from "../../tool/tool.ts";
import { type BrowserCloseReason, type BrowserState, MastraBrowser } from "../mastra-browser.ts";

/** A browser without a network: `browser_goto` moves it. */
export class ScriptedBrowser extends MastraBrowser {
  readonly provider = "scripted";
  readonly #states = new Map<string, BrowserState>();
  launches = 0;
  #running = false;

  show(threadId: string, currentUrl: string, title = "Page"): void {
    this.noteClosed(threadId, undefined);
    const tabs = [{ id: "1", url: currentUrl, title }];
    this.#states.set(threadId, { currentUrl, tabs, activeTabIndex: 0, urlChangedBy: "agent" });
  }

  protected async launch(): Promise<void> {
    this.launches++;
    this.#running = true;
  }

  protected async shutdown(): Promise<void> {
    this.#running = false;
    this.#states.clear();
  }

  isBrowserRunning(): boolean {
    return this.#running;
  }

  hasThreadSession(threadId: string): boolean {
    return this.#states.has(threadId);
  }

  async closeThreadSession(threadId: string, reason: BrowserCloseReason = "user"): Promise<void> {
    this.#states.delete(threadId);
    this.noteClosed(threadId, reason);
  }

  async getState(threadId: string = this.getCurrentThread() ?? ""): Promise<BrowserState | undefined> {
    return this.#states.get(threadId);
  }

  getTools(): ToolsInput {
    return {
      browser_goto: createTool({
        id: "browser_goto",
        description: "Open a page.",
        execute: async (input: { context: { url: string } }, { threadId, browser }) => {
          if (browser !== this) throw new Error("The tool did not get its browser.");
          this.show(threadId ?? "", input.context.url);
          return { success: true };
        },
      }),
      browser_click: createTool({
        id: "browser_click",
        description: "Click.",
        execute: async () => ({ success: true }),
      }),
    };
  }
}
