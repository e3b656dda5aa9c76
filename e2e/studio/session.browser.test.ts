import type { Browser, BrowserContext, Locator, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { StudioServer } from "./studio-server.ts";
import { ThreadView } from "./thread-view.ts";

const chromium = findChromium();

describe.skipIf(chromium === undefined)("A session in the studio", () => {
  let server: StudioServer;
  let browser: Browser;
  let context: BrowserContext;
  let problems: string[];

  beforeAll(async () => {
    [server, browser] = await Promise.all([StudioServer.start(), launch(chromium!)]);
  });
  afterAll(async () => {
    await Promise.all([server?.close(), browser?.close()]);
  });
  beforeEach(async () => {
    problems = [];
    context = await openContext(browser);
    context.on("weberror", (error) => problems.push(error.error().message));
    context.on("console", (message) => {
      // A killed server answers with nothing; of two answers to one question the second is refused.
      if (message.type() === "error" && !/404|409|ERR_/.test(message.text())) problems.push(message.text());
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  /** From the start page, with a click on one of the things to try. */
  async function tryOut(words: string): Promise<ThreadView> {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole("button", { name: words }).click();
    return onSession(page);
  }

  async function onSession(page: Page): Promise<ThreadView> {
    await page.waitForURL(/\/sessions\/demo\//);
    const view = ThreadView.on(page, "demo");
    await view.isLive();
    return view;
  }

  /** The same session in another window. */
  async function again({ page }: ThreadView): Promise<ThreadView> {
    const other = await context.newPage();
    await other.goto(page.url());
    return onSession(other);
  }

  const mode = ({ page }: ThreadView): Locator => page.getByLabel("Mode", { exact: true });
  const waits = async (view: ThreadView, name: string): Promise<void> => view.button(name).first().waitFor();
  const gone = async (view: ThreadView, name: string): Promise<void> =>
    view.button(name).first().waitFor({ state: "detached" });

  it("shows what a session changed in a file, and undoes it", async () => {
    const view = await tryOut("count to 8");
    await view.button("Stop").click();
    await view.say("write a poem");
    await waits(view, "Approve");
    await view.button("Approve").first().click();
    const card = view.page.getByTestId("change");
    await card.locator('[data-line="added"]', { hasText: "Indigo in the gloom." }).first().waitFor();
    await view.button("Undo the change to poem.md").click();
    await card.getByText("undone", { exact: true }).waitFor();
    await view.page.goto(`${server.url}/workspace`);
    await view.page.getByRole("button", { name: "README.md" }).waitFor();
    expect(await view.page.getByRole("button", { name: "poem.md" }).count()).toBe(0);
  });

  it("answers a newcomer after one click, or after a message and Enter", async () => {
    const clicked = await tryOut("count to 8");
    await clicked.reads(["You: count to 8", /I count/]);
    const page = await context.newPage();
    await page.goto(server.url);
    // Faster than the page knows who is there.
    await page.getByLabel("First message").waitFor();
    await page.keyboard.type("what is 6 * 7?");
    await page.keyboard.press("Enter");
    await (await onSession(page)).shows("6 * 7 = 42.");
    await page.getByRole("heading", { level: 1, name: "what is 6 * 7?" }).waitFor();
    // The session is in the list, under the name of its thread.
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    const entry = page.getByRole("list", { name: "Sessions" }).getByText("what is 6 * 7?");
    // The thread gets its title shortly after the first answer.
    await expect
      .poll(async () => {
        await page.reload();
        await page.getByRole("list", { name: "Sessions" }).waitFor();
        return entry.count();
      })
      .toBeGreaterThan(0);
    await entry.click();
    await (await onSession(page)).reads(["You: what is 6 * 7?", "6 * 7 = 42."]);
    const address = page.url();
    // Its thread leads back to it.
    await page.getByRole("link", { name: "Threads", exact: true }).click();
    await page.getByRole("list", { name: "Threads" }).getByText("what is 6 * 7?").click();
    await onSession(page);
    expect(page.url()).toBe(address);
    // Once it is deleted, its thread is still there, and a new session can continue on it.
    await page.getByRole("link", { name: "Sessions", exact: true }).click();
    await page.getByRole("button", { name: "Delete the session what is 6 * 7?" }).click();
    await page.getByRole("button", { name: "Delete it, keep its thread" }).press("Enter");
    const button = page.getByRole("button", { name: "Delete the session what is 6 * 7?" });
    await button.waitFor({ state: "detached" });
    await page.goto(address);
    await page.getByText("There is no such session").waitFor();
    await page.getByRole("link", { name: "Threads", exact: true }).click();
    await page.getByRole("list", { name: "Threads" }).getByText("what is 6 * 7?").click();
    await page.getByRole("button", { name: "Open a session" }).click();
    await (await onSession(page)).reads(["You: what is 6 * 7?", "6 * 7 = 42."]);
  });

  it("cuts the names of its threads where there is no room for them", async () => {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel("First message").fill("W".repeat(60));
    await page.keyboard.press("Enter");
    const list = (await onSession(page)).page.getByRole("list", { name: "Threads of this session" });
    await list.getByText("WWW").waitFor();
    const [width, room] = await list.evaluate((element) => {
      const { scrollWidth, clientWidth } = element as unknown as Record<string, number>;
      return [scrollWidth, clientWidth];
    });
    expect(width).toBe(room);
    expect(room).toBeLessThan(320);
  });

  it("asks, plans and switches the mode in both windows, with the keyboard alone", async () => {
    const here = await tryOut("plan a trip");
    const there = await again(here);
    expect(await mode(here).inputValue()).toBe("plan");
    const choice = there.page.getByLabel(/^Kyoto/);
    await choice.focus();
    await there.page.keyboard.press("Space");
    await there.page.keyboard.press("Enter");
    // The first plan goes back, and comes again with what was said about it.
    await waits(here, "Send it back …");
    await here.button("Send it back …").focus();
    await here.page.keyboard.press("Enter");
    await here.page.keyboard.type("no trains");
    await here.page.keyboard.press("Enter");
    await there.shows("As you asked: no trains");
    await waits(there, "Approve the plan");
    await there.button("Approve the plan").focus();
    await there.page.keyboard.press("Enter");
    for (const view of [here, there]) {
      await gone(view, "Approve the plan");
      await expect.poll(() => mode(view).inputValue()).toBe("build");
      await waits(view, "Always for this category");
      const tasks = view.page.getByRole("list", { name: "Tasks" });
      await expect.poll(() => tasks.locator("[data-status=completed]").count()).toBe(2);
    }
    // What the subagent did is where it was called.
    await here.button("Open its thread").click();
    const own = here.page.locator(".subagent [data-testid=message]");
    await own.getByText("I found the weavers' quarter of Nishijin.").waitFor();
    expect(await own.first().innerText()).toContain("Find something to see in Kyoto.");
    // Decided in one window, it is no longer asked in the other.
    await there.button("Approve").click();
    await gone(here, "Approve");
    for (const view of [here, there]) await view.shows("5 days, 1170 €, and it is in your notes");
  });

  it("has one queue in two windows: edited, ordered, steered and emptied", { tags: ["long"] }, async () => {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByLabel("First message").fill("ask me something");
    await page.keyboard.press("Enter");
    const here = await onSession(page);
    // It waits for the answer, and the queue waits with it.
    await here.page.getByLabel("What are you making?").waitFor();
    const there = await again(here);
    for (const text of ["what is 1 + 1?", "what is 2 + 2?", "not this one", "softly"])
      await here.say(text, "Control+Enter");
    const queue = (view: ThreadView): Locator => view.page.getByTestId("queued");
    const shows = async (...expected: string[]): Promise<void> => {
      for (const view of [here, there])
        await expect
          .poll(async () =>
            (await queue(view).allInnerTexts()).map((text) => text.replaceAll(/^\d+\s+/g, "").trim()),
          )
          .toEqual(expected);
    };
    await shows("what is 1 + 1?", "what is 2 + 2?", "not this one", "softly");
    const button = (view: ThreadView, index: number, name: string): Locator =>
      queue(view).nth(index).getByRole("button", { name });
    await button(there, 0, "Edit this message").click();
    await there.page.getByLabel("Queued message", { exact: true }).fill("what is 5 + 5?");
    await there.button("Save").click();
    await shows("what is 5 + 5?", "what is 2 + 2?", "not this one", "softly");
    await button(here, 1, "Move up").press("Enter");
    await shows("what is 2 + 2?", "what is 5 + 5?", "not this one", "softly");
    await button(there, 2, "Remove this message").click();
    await shows("what is 2 + 2?", "what is 5 + 5?", "softly");
    await button(here, 2, "Steer with this message now").click();
    await shows("what is 2 + 2?", "what is 5 + 5?");
    await there.page.getByLabel("What are you making?").fill("a coat");
    await there.page.keyboard.press("Enter");
    const expected = [
      "You: ask me something",
      /The user answered: a coat/,
      "You: softly",
      /You said: "softly"/,
      "You: what is 2 + 2?",
      "2 + 2 = 4.",
      "You: what is 5 + 5?",
      "5 + 5 = 10.",
    ];
    await Promise.all([here.reads(expected), there.reads(expected)]);
  });

  it("allows a category for good, in all windows, until that is taken back", { tags: ["long"] }, async () => {
    const here = await tryOut("note that the cat");
    const there = await again(here);
    const model = ({ page }: ThreadView): Locator => page.getByLabel("Model", { exact: true });
    await model(here).selectOption("selvedge/demo-fast");
    await expect.poll(() => model(there).inputValue()).toBe("selvedge/demo-fast");
    await waits(there, "Always for this category");
    await here.button("Always for this category").click();
    await gone(there, "Always for this category");
    for (const view of [here, there]) await view.shows("the cat is called Loom");
    await there.page.getByRole("list", { name: "Grants" }).getByText("edit").waitFor();
    await there.say("note that it rains");
    await there.shows("Written: it rains");
    await there.button("Revoke edit").click();
    await here.page.getByRole("list", { name: "Grants" }).waitFor({ state: "detached" });
    await here.say("note that it snows");
    await waits(there, "Always for this category");
    await there.button("Decline …").click();
    await there.page.getByLabel("Why not?").press("Enter");
    await here.shows("You declined");
    // A rule forbids it outright.
    await here.page.getByLabel("Tools of the category edit").selectOption("deny");
    await expect.poll(() => there.page.getByLabel("Tools of the category edit").inputValue()).toBe("deny");
  });

  it(
    "goes on in another window after a reload, and after the server was killed while it waited and while it worked",
    { tags: ["long"] },
    async () => {
      const here = await tryOut("plan a trip");
      await here.page.getByLabel(/^Bergen/).check();
      await here.button("Answer").click();
      await waits(here, "Approve the plan");
      await server.kill();
      await here.badge("reconnecting").waitFor();
      await server.start();
      await here.isLive();
      await here.page.reload();
      const there = await again(here);
      await there.button("Approve the plan").click();
      await here.shows("Thank you. I'll start now.");
      // Killed in the middle of the work.
      await server.kill();
      await server.start();
      for (const view of [here, there]) {
        await view.isLive();
        await expect.poll(() => mode(view).inputValue()).toBe("build");
        await waits(view, "Approve");
      }
      await here.button("Approve").click();
      for (const view of [here, there]) await view.shows("for a different one.");
      const text = (await here.transcript()).join("\n");
      for (const piece of [
        "plan a trip",
        "This is what I would do.",
        "Thank you. I'll start now.",
        "I wrote it down.",
      ])
        expect(text.split(piece), `${piece} in ${text}`).toHaveLength(2);
      await expect.poll(async () => (await there.transcript()).join("\n")).toBe(text);
      await there.page.reload();
      await there.isLive();
      await expect.poll(async () => (await there.transcript()).join("\n")).toBe(text);
    },
  );

  it("has a name for every control of a session, and fits a phone", async () => {
    const view = await tryOut("plan a trip");
    const { page } = view;
    await page.getByTestId("question").waitFor();
    await page.setViewportSize({ width: 375, height: 700 });
    for (const name of ["Hide session details", "Show session details"]) {
      expect(await page.evaluate<string[]>(UNNAMED)).toEqual([]);
      expect(await page.evaluate<number>(PAGE_WIDTH)).toBeLessThanOrEqual(375);
      await view.button(name).click();
    }
    await page.goto(server.url);
    await page.getByRole("button", { name: "plan a trip" }).waitFor();
    expect(await page.evaluate<string[]>(UNNAMED)).toEqual([]);
    expect(await page.evaluate<number>(PAGE_WIDTH)).toBeLessThanOrEqual(375);
  });
});
