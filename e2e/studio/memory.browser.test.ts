import type { Browser, BrowserContext, Locator } from "playwright-core";
import { type ScriptedCall, scriptedModel } from "@selvedge/testing";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { ThreadView } from "./thread-view.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

const chromium = findChromium();
const LONG = Array.from({ length: 60 }, () => "yarn").join(" ");

describe.skipIf(chromium === undefined)("The Memory panel", { tags: ["long"] }, () => {
  let browser: Browser;
  let context: BrowserContext;
  let open: Workshop;
  let problems: string[];
  /** What the observer waits for, and whether it fails. */
  let gate: Promise<void>;
  let isDown: boolean;

  const observer = scriptedModel(
    async ({ prompt }: ScriptedCall) => {
      await gate;
      if (isDown) throw Object.assign(new Error("The loom is on fire."), { statusCode: 401 });
      const quoted = JSON.stringify(prompt.at(-1));
      if (quoted.includes("Rewrite the log"))
        return "<observations>\n- 🔴 The user told much.\n</observations>";
      const said = quoted.match(/story \d+/g) ?? [];
      const notes = said.map((one) => `- 🔴 10:00 The user told ${one}, which was long and about yarn.`);
      return `<observations>\nDate: 2026-11-17\n${notes.join("\n") || "- 🟢 Greetings."}\n</observations>`;
    },
    { modelId: "note-taker" },
  );

  beforeAll(async () => {
    [open, browser] = await Promise.all([
      openWorkshop({
        observationalMemory: {
          model: observer,
          observation: { messageTokens: 400, bufferTokens: 100, blockAfter: 10 },
          reflection: { observationTokens: 200 },
        },
      }),
      launch(chromium!),
    ]);
  });
  afterAll(async () => {
    await Promise.all([open?.close(), browser?.close()]);
  });
  beforeEach(async () => {
    gate = Promise.resolve();
    isDown = false;
    problems = [];
    context = await openContext(browser);
    context.on("weberror", (error) => problems.push(error.error().message));
    context.on("console", (message) => {
      if (message.type() === "error") problems.push(message.text());
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  /** Two tabs on one new thread; the first has spoken. */
  async function twoTabs(): Promise<[ThreadView, ThreadView]> {
    const page = await context.newPage();
    await page.goto(`${open.url}/agents`);
    await page.locator(".agent-card").getByRole("link", { name: "New thread" }).click();
    const one = ThreadView.on(page, "Loom");
    await one.isLive();
    await one.say("hello");
    await one.shows("You said: hello");
    const other = await context.newPage();
    await other.goto(page.url());
    const two = ThreadView.on(other, "Loom");
    await two.isLive();
    return [one, two];
  }

  async function tell(view: ThreadView, from: number, to: number): Promise<void> {
    for (let story = from; story <= to; story++) {
      await view.say(`story ${story} ${LONG}`);
      await view.shows(`You said: story ${story} `);
      await view.isIdle();
    }
  }

  const notes = (view: ThreadView): Locator => view.page.getByTestId("memory-chunk");
  const meter = (view: ThreadView, name: string): Locator => view.page.getByRole("meter", { name });
  const valueOf = async (of: Locator): Promise<number> => Number(await of.getAttribute("aria-valuenow"));

  it("shows in two tabs how messages become notes, while no run is active", async () => {
    const done = Promise.withResolvers<void>();
    gate = done.promise;
    const [one, two] = await twoTabs();
    await tell(one, 1, 1);
    for (const view of [one, two]) {
      await view.page.getByTestId("memory-job").getByText("observing").waitFor();
      expect(await notes(view).count()).toBe(0);
    }
    done.resolve();
    for (const view of [one, two]) {
      await notes(view).getByText("The user told story 1").first().waitFor();
      await expect.poll(() => view.page.getByTestId("memory-job").count()).toBe(0);
      await notes(view).first().getByText("ready").waitFor();
      expect(await meter(view, "Messages").getAttribute("aria-valuetext")).toMatch(/ of 400 tokens$/);
    }
    await tell(two, 2, 4);
    // An activation empties the window of messages and fills the one of notes.
    for (const view of [one, two])
      await expect.poll(() => valueOf(meter(view, "Notes")), { timeout: 20_000 }).toBeGreaterThan(0);
    expect(await valueOf(meter(one, "Messages"))).toBeLessThan(400);
    await one.page.getByText("note-taker").first().waitFor();
    expect(await one.page.evaluate<string[]>(UNNAMED)).toEqual([]);
  });

  it("leads from a note to its messages and back, also twice and by keyboard", async () => {
    const [view] = await twoTabs();
    const { page } = view;
    await tell(view, 1, 3);
    await notes(view).first().getByText("The user told story 1").first().waitFor();
    await notes(view).first().locator("summary").focus();
    await page.keyboard.press("Enter");
    const link = notes(view).first().getByRole("link", { name: "First message" });
    for (let time = 0; time < 2; time++) {
      await link.focus();
      await page.keyboard.press("Enter");
      await page.locator(".message[data-found]").getByText("hello", { exact: true }).waitFor();
      await page.locator(".message", { hasText: `You said: story 3` }).scrollIntoViewIfNeeded();
    }
    await page.getByRole("button", { name: "Hide thread details" }).click();
    const message = page.locator(".message", { hasText: /^You.*hello/ }).first();
    await message.hover();
    await message.getByRole("link", { name: "Notes on this message" }).click();
    const wanted = page.locator("details.lane[data-found]");
    await wanted.getByText("The user told story 1").first().waitFor();
    await wanted.locator("summary:focus").waitFor();
  });

  it("shows why an observation failed, in both tabs, and retries it when asked", async () => {
    isDown = true;
    const [one, two] = await twoTabs();
    await tell(one, 1, 1);
    for (const view of [one, two])
      await view.page.getByTestId("memory-job").getByText("The loom is on fire.").waitFor();
    isDown = false;
    await two.button("Retry now").click();
    for (const view of [one, two]) {
      await notes(view).getByText("The user told story 1").first().waitFor();
      await expect.poll(() => view.page.getByTestId("memory-job").count()).toBe(0);
    }
  });

  it("observes at once, and forgets, in both tabs", async () => {
    const [one, two] = await twoTabs();
    await one.button("Observe now").click();
    for (const view of [one, two]) await expect.poll(() => notes(view).count()).toBe(1);
    await two.button("Forget").press("Enter");
    await two.button("Keep them").press("Enter");
    await two.button("Forget").press("Enter");
    await two.page.keyboard.press("Enter");
    for (const view of [one, two]) {
      await view.page.getByText("No notes yet.").waitFor();
      expect(await valueOf(meter(view, "Messages"))).toBeGreaterThan(0);
    }
    await tell(one, 1, 1);
    await notes(two).getByText("The user told story 1").first().waitFor();
  });

  it("compares the notes before and after they were rewritten", async () => {
    const [view] = await twoTabs();
    for (let story = 1; !(await view.page.getByText("Earlier generations").count()); story++)
      await tell(view, story, story);
    await view.page.getByText("Earlier generations").click();
    const generation = view.page.getByTestId("generation").last();
    await generation.locator("summary").click();
    const changed = (how: string): Locator => generation.locator(`.diff-line[data-change=${how}]`);
    await changed("added").getByText("The user told much.").waitFor();
    await changed("removed").getByText("The user told story 1").first().waitFor();
    await notes(view).first().getByText("Rewritten notes").waitFor();
  });

  it("marks on the page of runs what an activation replaced, and the cached part of a step", async () => {
    const [view] = await twoTabs();
    await tell(view, 1, 5);
    await view.say("is this cached?");
    await view.shows("From the cache.");
    await view.isIdle();
    await view.page.getByRole("link", { name: "Runs" }).click();
    await view.page.getByText("200 in (75 % cached), 3 out").waitFor();
    const runs = view.page.getByRole("navigation", { name: "Runs" }).getByRole("link");
    const mark = view.page.getByText(/^Notes of \d+ tokens replaced \d+ tokens of messages\.$/);
    let marked = 0;
    for (let run = 0; run < (await runs.count()); run++) {
      await runs.nth(run).click();
      await view.page.locator(".timeline-step").first().waitFor();
      await expect.poll(() => runs.nth(run).getAttribute("aria-current")).toBe("page");
      marked += await mark.count();
    }
    expect(marked).toBeGreaterThan(0);
  });

  it("fits on a phone", async () => {
    const [view] = await twoTabs();
    await view.page.setViewportSize({ width: 360, height: 700 });
    await view.page.locator(".inspector").waitFor();
    await view.page.getByRole("meter", { name: "Messages" }).waitFor();
    expect(await view.page.evaluate<number>(PAGE_WIDTH)).toBeLessThanOrEqual(360);
  });
});
