import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { FOCUSED_STEP, HEADING_IS_WHOLE, isInGraph, PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { RunView } from "./run-view.ts";
import { MANY, openWorkflowShop, type WorkflowShop } from "./workflow-shop.ts";

const chromium = findChromium();

describe.skipIf(chromium === undefined)("Workflows in the studio", { tags: ["long"] }, () => {
  let browser: Browser;
  let context: BrowserContext;
  let shop: WorkflowShop;
  let problems: string[];

  beforeAll(async () => {
    [shop, browser] = await Promise.all([openWorkflowShop(), launch(chromium!)]);
  });
  afterAll(async () => {
    await Promise.all([shop?.close(), browser?.close()]);
  });
  beforeEach(async () => {
    problems = [];
    context = await openContext(browser);
    context.on("weberror", (error) => problems.push(error.error().message));
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  const start = async (metres: string, button?: string): Promise<RunView> =>
    RunView.start(await context.newPage(), `${shop.url}/workflows/order`, { metres }, button);

  it("shows what a step got, returned and needed, and resumes with what a form asks for", async () => {
    const view = await start("7");
    await view.has("approve", "suspended");
    await view.step("check").click();
    const about = view.page.getByRole("region", { name: "Step check" });
    await about.getByText("Attempts").waitFor();
    expect(await about.locator(".facts").innerText()).toMatch(/Attempts\s+2/);
    expect(await view.value("Output")).toEqual({ metres: 7 });
    expect(await view.value("Input")).toEqual({ metres: 7 });
    await view.step("approve").click();
    const by = view.page.getByLabel("by");
    await by.fill("Nobody");
    await view.button("Resume").click();
    await view.page.getByText("Nobody may not.").first().waitFor();
    expect(await by.getAttribute("aria-invalid")).toBe("true");
    await by.fill("Ada");
    await view.button("Resume").click();
    await view.badge("done").waitFor();
    await view.has("approve", "success");
    expect(await view.value("Resumed with")).toEqual({ by: "Ada" });
    expect(await view.states()).toEqual({
      check: "success",
      warp: "success",
      dyeing: "success",
      "dyeing.dye": "success",
      "dyeing.rinse": "success",
      approve: "success",
    });
  });

  it("lists the runs of schedules and of your code beside your own", async () => {
    // It belongs to no one, as those that a schedule or your code starts.
    const runId = "of-no-one";
    await fetch(`${shop.url}/api/workflows/order/start?runId=${runId}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ inputData: { metres: 7 } }),
    });
    const page = await context.newPage();
    await page.goto(`${shop.url}/workflows`);
    await page.getByRole("link", { name: /waiting for you/ }).click();
    await page.getByText(runId).waitFor();
    await page.getByLabel("Owner of the runs").selectOption("own");
    await expect.poll(() => page.getByText(runId).count()).toBe(0);
  });

  it("refuses an input that does not fit, at its field, and starts nothing", async () => {
    const page = await context.newPage();
    await page.goto(`${shop.url}/workflows/order`);
    await page.getByLabel("metres").fill("99");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator(".field-error").first().waitFor();
    expect(new URL(page.url()).pathname).toBe("/workflows/order");
  });

  it("says why a step failed, and runs again from it with another input", async () => {
    const view = await start("13");
    await view.has("check", "failed");
    await view.page.getByText("Nobody weaves 13 metres.").first().waitFor();
    expect(await view.states()).toMatchObject({ warp: "unused", approve: "unused" });
    await view.button("Run again from here …").click();
    const metres = view.page.getByLabel("metres");
    expect(await metres.inputValue()).toBe("13");
    await metres.fill("12");
    await view.button("Run from here").click();
    await view.has("approve", "suspended");
    await view.step("dyeing.rinse").click();
    expect(await view.value("Output")).toEqual({ shade: "indigo 12, rinsed" });
  });

  it("runs step by step, and to the end", async () => {
    const view = await start("3", "Step by step");
    await view.badge("paused").waitFor();
    expect(await view.states()).toMatchObject({ check: "success", approve: "idle" });
    await view.button("Next step").click();
    await view.has("warp", "success");
    await view.badge("paused").waitFor();
    await view.button("Run to the end").click();
    await view.has("approve", "suspended");
  });

  it("finds runs by status and date, and deletes one that has ended", async () => {
    const view = await start("13");
    await view.badge("failed").waitFor();
    const runId = new URL(view.page.url()).pathname.split("/").at(-1)!;
    const { page } = view;
    await page.goto(`${shop.url}/workflows/order`);
    const runs = page.getByRole("list", { name: "Runs" });
    await page.getByLabel("Status of the runs").selectOption("failed");
    await runs.getByText(runId).waitFor();
    await expect.poll(() => runs.locator(".badge").allInnerTexts()).not.toContain("waiting for you");
    await page.getByLabel("To", { exact: true }).fill("2020-01-01");
    await page.getByText("No such runs").waitFor();
    await page.getByLabel("To", { exact: true }).fill("");
    await page.getByRole("button", { name: `Delete run ${runId}` }).click();
    await page.getByRole("button", { name: "Delete it" }).click();
    await runs.getByText(runId).waitFor({ state: "detached" });
  });

  it("can be used with the keyboard alone", async () => {
    const view = await start("9");
    await view.has("approve", "suspended");
    const { page } = view;
    const focused = (): Promise<string> => page.evaluate<string>(FOCUSED_STEP);
    await view.step("approve").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    expect(await focused()).toBe("check list-step");
    await page.keyboard.press("Enter");
    await page.getByRole("region", { name: "Step check" }).waitFor();
    await tabTo(page, "check graph-step", focused);
    await page.keyboard.press("End");
    expect(await focused()).toBe("approve graph-step");
    await page.keyboard.press("Enter");
    await page.getByLabel("by").focus();
    await page.keyboard.type("Ada");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await view.badge("done").waitFor();
  });

  it("draws two hundred steps, and goes to where it is", async () => {
    const page = await context.newPage();
    await page.goto(`${shop.url}/workflows/long`);
    await page.getByLabel("count").fill("0");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const view = RunView.on(page);
    await view.badge("done").waitFor();
    const states = Object.values(await view.states());
    expect(states).toHaveLength(MANY);
    expect(new Set(states)).toEqual(new Set(["success"]));
    expect(await view.value("Result")).toEqual({ count: MANY });
    await view.step(`step-${MANY - 1}`).click();
    expect(await view.value("Output")).toEqual({ count: MANY });
    const isShown = (key: string): Promise<boolean> => page.evaluate<boolean>(isInGraph(key));
    await expect.poll(() => isShown(`step-${MANY - 1}`)).toBe(true);
    await view.step("step-0").click();
    await expect.poll(() => isShown("step-0")).toBe(true);
    expect(await page.getByRole("link", { name: "Workflows" }).first().getAttribute("aria-current")).toBe(
      "page",
    );
  });

  it("finds workflows, and shows schedules with their history", async () => {
    const page = await context.newPage();
    await page.goto(`${shop.url}/workflows`);
    await page.getByRole("searchbox").fill("quick");
    await expect
      .poll(() => page.getByRole("list", { name: "Workflows" }).getByRole("listitem").count())
      .toBe(1);
    await page.goto(`${shop.url}/schedules`);
    const schedule = page.getByTestId("schedule").filter({ hasText: "wf_order" });
    await schedule.getByText("0 3 * * *").waitFor();
    await schedule.getByRole("button", { name: "Pause" }).click();
    await schedule.getByText("paused").waitFor();
    await schedule.getByRole("button", { name: "Resume" }).click();
    await schedule.getByText("active").waitFor();
    await schedule.getByRole("button", { name: "Run wf_order now" }).click();
    await schedule.getByText("by hand").waitFor();
    await schedule.getByRole("list", { name: "History of wf_order" }).getByRole("link").first().click();
    await RunView.on(page).has("approve", "suspended");
    await RunView.on(page).step("check").click();
    expect(await RunView.on(page).value("Input")).toEqual({ metres: 5 });
  });

  it("has a name for every control of a run and of its forms, and fits a phone", async () => {
    const view = await start("13");
    await view.has("check", "failed");
    await view.page.setViewportSize({ width: 375, height: 700 });
    await view.button("Run again from here …").click();
    expect(await view.page.evaluate<string[]>(UNNAMED)).toEqual([]);
    expect(await view.page.evaluate<number>(PAGE_WIDTH)).toBeLessThanOrEqual(375);
    expect(await view.page.evaluate<boolean>(HEADING_IS_WHOLE)).toBe(true);
  });
});

async function tabTo(page: Page, wanted: string, focused: () => Promise<string>): Promise<void> {
  for (let presses = 0; presses < 12; presses++) {
    await page.keyboard.press("Tab");
    if ((await focused()) === wanted) return;
  }
  throw new Error(`Tab did not lead to ${wanted}, but to ${await focused()}.`);
}
