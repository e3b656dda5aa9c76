import { setTimeout as delay } from "node:timers/promises";
import { PATIENCE_MS } from "./browser.ts";
import { TRANSCRIPT } from "./in-page.ts";
import type { BrowserContext, Locator, Page } from "playwright-core";

/** A thread's page, as a person uses it. */
export class ThreadView {
  readonly page: Page;
  readonly box: Locator;

  private constructor(page: Page, agentName: string) {
    this.page = page;
    this.box = page.getByLabel(`Message to ${agentName}`);
  }

  static on(page: Page, agentName: string): ThreadView {
    return new ThreadView(page, agentName);
  }

  static async open(context: BrowserContext, url: string, threadId: string): Promise<ThreadView> {
    const page = await context.newPage();
    await page.goto(`${url}/threads/${threadId}?agent=assistant`);
    const view = new ThreadView(page, "Assistant");
    await view.isLive();
    return view;
  }

  async isLive(): Promise<void> {
    await this.badge("live").waitFor();
  }

  badge(text: string): Locator {
    return this.page.locator(".thread-head .badge", { hasText: new RegExp(`^${text}$`) });
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  async say(text: string, key: "Enter" | "Control+Enter" = "Enter"): Promise<void> {
    await this.box.fill(text);
    await this.box.press(key);
  }

  async shows(text: string | RegExp): Promise<void> {
    await this.page.locator(".conversation").getByText(text).first().waitFor();
  }

  async isIdle(): Promise<void> {
    await this.page.locator(".inspector").getByText("Idle. A message wakes the agent.").waitFor();
  }

  /** What stands in the conversation: who, and what, tool calls included. */
  async transcript(): Promise<string[]> {
    return this.page.evaluate<string[]>(TRANSCRIPT);
  }

  /** Waits until the conversation stands like this. */
  async reads(expected: (string | RegExp)[]): Promise<void> {
    for (const since = performance.now(); ; await delay(50)) {
      const lines = await this.transcript();
      const fits = (line: string, index: number): boolean => {
        const wanted = expected[index]!;
        return typeof wanted === "string" ? line.includes(wanted) : wanted.test(line);
      };
      if (lines.length === expected.length && lines.every(fits)) return;
      if (performance.now() - since > PATIENCE_MS)
        throw new Error(
          `Expected ${expected.map(String).join(" | ")}, and the page shows ${lines.join(" | ")}`,
        );
    }
  }
}
