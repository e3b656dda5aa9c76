import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { StudioServer } from "./studio-server.ts";
import { ThreadView } from "./thread-view.ts";

const chromium = findChromium();
if (chromium === undefined) {
  console.warn(
    "The browser tests of the studio are skipped: there is no chromium here (scripts/ensure-chromium).",
  );
}

describe.skipIf(chromium === undefined)("The studio in a browser", () => {
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
      // A thread that has no message yet is answered with 404, and a killed server with nothing.
      if (message.type() === "error" && !/404|ERR_/.test(message.text())) problems.push(message.text());
    });
    context.on("request", (request) => {
      if (!request.url().startsWith(server.url)) problems.push(`an outside call: ${request.url()}`);
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  const open = (threadId: string): Promise<ThreadView> => ThreadView.open(context, server.url, threadId);

  it("answers in a new thread, with the tool call in its place, and names the thread", async () => {
    const page = await context.newPage();
    await page.goto(`${server.url}/threads`);
    await page.getByRole("button", { name: "New thread" }).first().click();
    const box = page.getByLabel("Message to Assistant");
    await box.fill("what is 12 * (3 + 4)?");
    await page.getByRole("button", { name: "Send", exact: true }).click();
    await page.getByText("12 * (3 + 4) = 84.").waitFor();
    const answer = page.getByTestId("message").nth(1);
    await expect
      .poll(() => answer.innerText())
      .toMatch(/I will calculate that\.\s+calculator[\s\S]+done[\s\S]+= 84\./);
    await page.getByRole("heading", { level: 1, name: "what is 12 * (3 + 4)?" }).waitFor();
    await page.getByRole("link", { name: "Threads" }).click();
    await page.getByRole("list", { name: "Threads" }).getByText("what is 12 * (3 + 4)?").waitFor();
  });

  it("shows two tabs on one thread the same stream, with who said what", { tags: ["long"] }, async () => {
    const [ada, ben] = [await open("two-tabs"), await open("two-tabs")];
    await ada.page.getByLabel("Your name").fill("Ada");
    await ben.page.getByLabel("Your name").fill("Ben");
    await ada.say("count to 3");
    // Ben sees the answer while it is being written, and joins in.
    await ben.page.locator(".message[data-live]").first().waitFor();
    await ben.say("I am here too");
    const expected = [
      "Ada: count to 3",
      /^Assistant: I count … wait/,
      "Ben: I am here too",
      /^Assistant: You said "I am here too" while I was counting\. I'll continue\..* 3, and done\./,
    ];
    await Promise.all([ada.reads(expected), ben.reads(expected)]);
    // The last sentence may still be on its way to one of them.
    for (const { page } of [ada, ben])
      await page.locator(".message[data-live]").first().waitFor({ state: "detached" });
    expect(await ada.transcript()).toEqual(await ben.transcript());
  });

  it("goes on where it was after a reload in the middle of an answer", { tags: ["long"] }, async () => {
    const view = await open("reload");
    await view.say("count to 4");
    await view.shows(/^1 …/);
    await view.page.reload();
    await view.shows("4, and done.");
    await view.reads([
      "You: count to 4",
      /^Assistant: I count … wait .* 1 … wait .* 2 … wait .* 3 … wait .* 4, and done\./,
    ]);
    const answer = (await view.transcript())[1]!;
    expect(answer.match(/I count …/g)).toHaveLength(1);
    expect(answer.match(/and done\./g)).toHaveLength(1);
  });

  it("runs a tool only when somebody approves, in whichever tab", async () => {
    const [first, second] = [await open("approval"), await open("approval")];
    await first.say("note that bread is out");
    await first.page.getByTestId("tool-call").getByText("waiting for you").waitFor();
    await second.page.getByTestId("tool-call").getByRole("button", { name: "Approve" }).click();
    await Promise.all([first.shows(/Written: bread is out/), second.shows(/Written: bread is out/)]);
    expect(await first.page.getByRole("button", { name: "Approve" }).count()).toBe(0);
  });

  it("declines a tool call with a reason that the history keeps", { tags: ["long"] }, async () => {
    const view = await open("decline");
    await view.say("note that nothing is secret");
    await view.page.getByTestId("tool-call").getByRole("button", { name: "Decline" }).click();
    await view.page.getByLabel("Why not?").fill("Too private.");
    await view.page.getByLabel("Why not?").press("Enter");
    await view.shows("You declined");
    await view.page.getByTestId("tool-call").getByText("declined").waitFor();
  });

  it(
    "queues messages for their own turns, and lets them be changed and taken back",
    { tags: ["long"] },
    async () => {
      const view = await open("queue");
      await view.say("count to 6");
      await view.shows("I count");
      await view.say("what is 1 + 1?", "Control+Enter");
      await view.say("not this one", "Control+Enter");
      await view.say("what is 2 + 2?", "Control+Enter");
      const queued = view.page.getByTestId("queued");
      await expect.poll(() => queued.count()).toBe(3);
      await queued.nth(0).getByRole("button", { name: "Edit this message" }).click();
      await view.page.getByLabel("Queued message", { exact: true }).fill("what is 5 + 5?");
      await view.button("Save").click();
      await queued.nth(1).getByRole("button", { name: "Remove this message" }).click();
      await expect
        .poll(() => queued.allInnerTexts())
        .toEqual([expect.stringContaining("what is 5 + 5?"), expect.stringContaining("what is 2 + 2?")]);
      await view.shows("2 + 2 = 4.");
      await view.reads([
        "You: count to 6",
        /^Assistant: I count/,
        "You: what is 5 + 5?",
        "5 + 5 = 10.",
        "You: what is 2 + 2?",
        "2 + 2 = 4.",
      ]);
    },
  );

  it("stops a run, and takes the next message", { tags: ["long"] }, async () => {
    const view = await open("stop");
    await view.say("count to 30");
    await view.shows(/^1 …/);
    await view.button("Stop").click();
    await view.isIdle();
    await view.say("what is 3 * 3?");
    await view.shows("3 * 3 = 9.");
  });

  it(
    "finds the server again after it was killed in the middle of an answer, with nothing lost or doubled",
    { tags: ["long"] },
    async () => {
      const view = await open("killed");
      await view.say("count to 5");
      await view.shows(/^2 …/);
      await server.kill();
      await view.badge("reconnecting").waitFor();
      await server.start();
      await view.isLive();
      await view.shows("5, and done.");
      await view.isIdle();
      const text = (await view.transcript()).join("\n");
      for (const piece of ["You: count to 5", "I count …", " 1 …", " 2 …", " 3 …", " 4 …", "5, and done."]) {
        expect(text.split(piece), `${piece} in ${text}`).toHaveLength(2);
      }
      await view.page.reload();
      await view.isLive();
      await expect.poll(async () => (await view.transcript()).join("\n")).toBe(text);
    },
  );

  it("shows the inbox, signals and state lanes of a thread", async () => {
    const view = await open("events");
    await view.say("what is 1 + 2?");
    await view.shows("1 + 2 = 3.");
    await view.button("Send the notification").click();
    await view.page.getByTestId("notification").getByText("CI failed on main: 3 tests failed.").waitFor();
    await view.page.locator('.message[data-kind="notification"]').getByText("CI failed").waitFor();
    await view.button("state").click();
    await view.button("Send the state").click();
    await view.page.locator(".inspector .lane", { hasText: "browser" }).getByText("snapshot · v1").waitFor();
    await view.page.locator('.message[data-kind="state"]').getByText("The browser is open").waitFor();
  });

  it("shows the steps of a run with tokens and durations", { tags: ["long"] }, async () => {
    const view = await open("timeline");
    await view.say("what is 6 * 7?");
    await view.shows("6 * 7 = 42.");
    await view.isIdle();
    await view.page.getByRole("link", { name: "Runs" }).click();
    const steps = view.page.locator(".timeline-step");
    await expect.poll(() => steps.count()).toBe(2);
    expect(await steps.nth(0).innerText()).toMatch(
      /Step 1[\s\S]*in, [\s\S]*(ms|s)[\s\S]*calculator[\s\S]*done/,
    );
  });

  it("runs a tool by hand, from a form made of its schema", async () => {
    const page = await context.newPage();
    await page.goto(`${server.url}/tools/calculator`);
    await page.getByRole("button", { name: "Run" }).click();
    expect(await page.getByTestId("tool-outcome").count()).toBe(0);
    await page.getByLabel("expression").fill("2 ^ 10");
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByTestId("tool-outcome").getByText("1024").waitFor();
    await page.goto(`${server.url}/tools/write-note`);
    await page.getByLabel("text").fill("by hand");
    await page.getByLabel("I approve this call").check();
    await page.getByRole("button", { name: "Run" }).click();
    await page.getByTestId("tool-outcome").getByText("by hand").waitFor();
  });

  it("finds threads by what was said in them", { tags: ["long"] }, async () => {
    const view = await open("find-me");
    await view.say("the shuttle is by the window");
    await view.shows("You said:");
    await view.page.goto(`${server.url}/threads`);
    await view.page.getByRole("searchbox").fill("by the window");
    await view.page.locator("mark").first().waitFor();
    await view.page
      .getByRole("link", { name: /by the window/ })
      .first()
      .click();
    await view.shows("the shuttle is by the window");
  });

  it("shows the process that carries out a run, with a link to it", async () => {
    const view = await open("worked-on");
    await view.say("count to 30");
    const page = await context.newPage();
    await page.goto(`${server.url}/workers`);
    const workers = page.getByRole("list", { name: "Workers" });
    await workers.getByText("this server").waitFor();
    await workers.getByRole("link", { name: "worked-on" }).click();
    await page.getByText("count to 30").first().waitFor();
  });

  it("has a name for every control on a thread and on each page of the sidebar, and fits a phone", async () => {
    const page = await context.newPage();
    await page.setViewportSize({ width: 375, height: 700 });
    await page.goto(server.url);
    const links = page.getByRole("navigation", { name: "Pages" }).getByRole("link");
    await links.nth(2).waitFor();
    const pages = await links.all();
    const paths = await Promise.all(pages.map((link) => link.getAttribute("href")));
    expect(paths.length).toBeGreaterThanOrEqual(3);
    for (const path of [...paths, "/threads/named?agent=assistant"]) {
      await page.goto(`${server.url}${path}`);
      await page.locator("main h1").first().waitFor();
      expect(await page.evaluate<string[]>(UNNAMED), path!).toEqual([]);
      expect(await page.evaluate<number>(PAGE_WIDTH), path!).toBeLessThanOrEqual(375);
    }
  });
});
