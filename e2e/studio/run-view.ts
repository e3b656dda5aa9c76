import type { BrowserContext, Locator, Page } from "playwright-core";
import { expect } from "vitest";
import { STATES_IN_GRAPH, STATES_IN_LIST } from "./in-page.ts";

/** The page of a workflow run, as a person uses it. */
export class RunView {
  readonly page: Page;

  private constructor(page: Page) {
    this.page = page;
  }

  static on(page: Page): RunView {
    return new RunView(page);
  }

  /** Starts a run with the form of a workflow. */
  static async start(
    page: Page,
    address: string,
    fill: Record<string, string>,
    button = "Run",
  ): Promise<RunView> {
    await page.goto(address);
    for (const [label, value] of Object.entries(fill)) await page.getByLabel(label).fill(value);
    await page.getByRole("button", { name: button, exact: true }).click();
    const view = new RunView(page);
    await view.step("check").or(view.step("check-order")).first().waitFor();
    return view;
  }

  /** The same run in another tab. */
  async another(context: BrowserContext): Promise<RunView> {
    const page = await context.newPage();
    await page.goto(this.page.url());
    return new RunView(page);
  }

  button(name: string): Locator {
    return this.page.getByRole("button", { name, exact: true });
  }

  badge(text: string): Locator {
    return this.page.locator(".page-head .badge", { hasText: new RegExp(`^${text}$`) });
  }

  /** A step in the list. */
  step(key: string): Locator {
    return this.page.locator(`[data-testid=list-step][data-step="${key}"]`);
  }

  async isLive(): Promise<void> {
    await this.badge("live").waitFor();
  }

  /** Waits until a step is in a state, in the list and in the graph. */
  async has(key: string, state: string): Promise<void> {
    await this.page.locator(`[data-testid=list-step][data-step="${key}"][data-state="${state}"]`).waitFor();
    await this.page.locator(`[data-testid=graph-step][data-step="${key}"][data-state="${state}"]`).waitFor();
  }

  /** What the list says about every step. The graph must say the same. */
  async states(): Promise<Record<string, string>> {
    const inGraph = await this.page.evaluate<Record<string, string>>(STATES_IN_GRAPH);
    const inList = await this.page.evaluate<Record<string, string>>(STATES_IN_LIST);
    const shown = Object.fromEntries(Object.entries(inList).filter(([key]) => key in inGraph));
    expect(inGraph).toEqual(shown);
    return inList;
  }

  /** What is shown of a value of the chosen step or run. */
  async value(name: string): Promise<unknown> {
    const text = await this.page.locator(`pre[aria-label="${name}"]`).innerText();
    try {
      return JSON.parse(text);
    } catch {
      return text;
    }
  }
}
