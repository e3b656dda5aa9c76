import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { RunView } from "./run-view.ts";
import { StudioServer } from "./studio-server.ts";

const chromium = findChromium();

describe.skipIf(chromium === undefined)("The demo workflow in the studio", () => {
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
      // A killed server answers with nothing.
      if (message.type() === "error" && !/ERR_/.test(message.text())) problems.push(message.text());
    });
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  it("survives a killed server and a reload, live in two tabs, and is approved in the other one", async () => {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole("link", { name: /weave an order/ }).click();
    await page.getByLabel("metres").fill("21");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const here = RunView.on(page);
    await here.has("check-order", "success");
    const there = await here.another(context);
    await Promise.all([here.has("reserve-yarn", "running"), there.has("reserve-yarn", "running")]);
    await server.kill();
    await Promise.all([here.badge("reconnecting").waitFor(), there.badge("reconnecting").waitFor()]);
    await server.start();
    await Promise.all([here.isLive(), there.isLive()]);
    await page.reload();
    for (const view of [here, there]) {
      await view.has("reserve-yarn", "success");
      await view.has("quote.calculator", "success");
      await view.has("copywriter", "success");
      await view.has("weave-bolt", "success");
      await view.has("approve-dispatch", "suspended");
    }
    expect(await here.states()).toEqual(await there.states());
    await there.page.getByText("Send 21 metres of indigo").waitFor();
    await there.page.getByLabel("approved").check();
    await there.page.getByLabel("note").fill("with thanks");
    await there.button("Resume").click();
    for (const view of [here, there]) {
      await view.has("dispatch", "success");
      await view.badge("done").waitFor();
      expect(await view.states()).toMatchObject({ restock: "unused", "list-bolts": "success" });
      await expect.poll(async () => (await view.states())["outcome"]).toBe("success");
      await view.page.getByRole("button", { name: /^Run done$/ }).click();
      expect(await view.value("Result")).toMatchObject({
        message: expect.stringMatching(/^Sent 21 metres of indigo: .*\(with thanks\)$/),
      });
    }
  });

  it("shows an agent's words while it writes", { tags: ["long"] }, async () => {
    const view = await RunView.start(await context.newPage(), `${server.url}/workflows/weave-order`, {
      metres: "30",
    });
    await view.has("copywriter", "running");
    await view.step("copywriter").click();
    await expect.poll(async () => String(await view.value("Text of this step"))).toMatch(/^\w+/);
    await view.has("copywriter", "success");
    expect(await view.value("Output")).toMatchObject({ text: expect.stringMatching(/ndigo/) });
    await view.button("Cancel …").click();
    await view.button("Cancel it").click();
    await view.badge("canceled").waitFor();
  });

  it("counts runs, and has a name for every control on a phone", async () => {
    const page = await context.newPage();
    await page.setViewportSize({ width: 375, height: 700 });
    const view = await RunView.start(page, `${server.url}/workflows/weave-order`, { metres: "8" });
    await view.has("check-order", "success");
    const run = page.url();
    for (const address of [run, `${server.url}/workflows/weave-order`, `${server.url}/workflows`]) {
      await page.goto(address);
      await page.locator("main h1").first().waitFor();
      expect(await page.evaluate<string[]>(UNNAMED), address).toEqual([]);
      expect(await page.evaluate<number>(PAGE_WIDTH), address).toBeLessThanOrEqual(375);
    }
    await page.getByRole("link", { name: /waiting for you/ }).click();
    await page.getByRole("list", { name: "Runs" }).getByText("waiting for you").first().waitFor();
    await page.goto(run);
    await view.button("Cancel …").click();
    await view.button("Cancel it").click();
    await view.badge("canceled").waitFor();
  });
});
