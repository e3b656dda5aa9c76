import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { findChromium, launch, PATIENCE_MS } from "../e2e/studio/browser.ts";
import buildStudio from "../e2e/studio/build-studio.ts";
import { StudioServer } from "../e2e/studio/studio-server.ts";
import { ThreadView } from "../e2e/studio/thread-view.ts";

// Takes the screenshots of the docs: the start page, a session, a live thread, an approval, a timeline, a workspace and a workflow, in light and in dark.

const folder = process.argv[2] ?? "docs/images";
const chromium = findChromium();
if (chromium === undefined) throw new Error("Chromium is missing. Install it with scripts/ensure-chromium.");

buildStudio();
await mkdir(folder, { recursive: true });
const [server, browser] = await Promise.all([StudioServer.start(), launch(chromium)]);
try {
  await takeScreenshots();
} finally {
  await Promise.all([server.close(), browser.close()]);
}

async function takeScreenshots(): Promise<void> {
  const context = await browser.newContext({
    viewport: { width: 1320, height: 820 },
    deviceScaleFactor: 1.25,
    locale: "en-GB",
  });
  context.setDefaultTimeout(PATIENCE_MS);
  const view = await ThreadView.open(context, server.url, "spring-orders");
  const { page } = view;
  await page.getByLabel("Your name").fill("Ada");
  await view.say("what is 48 * (12 + 7)?");
  await view.shows("48 * (12 + 7) = 912.");
  await page.getByRole("heading", { level: 1, name: "what is 48" }).waitFor();
  await view.say("note that 912 metres of denim are on order");
  await page.getByTestId("tool-call").getByText("waiting for you").waitFor();
  await shoot(page, "approval");
  await page.getByTestId("tool-call").getByRole("button", { name: "Approve" }).click();
  await view.shows("Written:");
  await view.isIdle();
  await view.say("count to 12");
  await view.shows(/^1 …/);
  await view.button("Send the notification").click();
  await page.locator('.message[data-kind="notification"]').first().waitFor();
  await view.say("and how many bolts is that?", "Control+Enter");
  await view.say("count a bit louder");
  await page.getByTestId("queued").waitFor();
  await page.getByText("while I was counting").first().waitFor();
  await shoot(page, "thread");
  await view.button("Stop").click();
  await view.isIdle();
  await page.goto(`${server.url}/threads/spring-orders/runs?agent=assistant`);
  await page.getByRole("navigation", { name: "Runs" }).getByText("stopped").click();
  await page.locator(".timeline-step").first().waitFor();
  await shoot(page, "runs");
  await takeWorkspace(page);
  await takeMemory(page);
  await takeSession(page);
  await takeWorkflow(page);
}

/** A workflow with runs in several states, and a run that waits for an approval. */
async function takeWorkflow(page: Page): Promise<void> {
  const start = async (metres: string): Promise<void> => {
    await page.goto(`${server.url}/workflows/weave-order`);
    await page.getByLabel("metres").fill(metres);
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByTestId("list-step").first().waitFor();
  };
  await start("18");
  await page.getByRole("button", { name: "Cancel …" }).click();
  await page.getByRole("button", { name: "Cancel it" }).click();
  await page.getByText("canceled").first().waitFor();
  await start("24");
  await page.getByRole("button", { name: "Resume" }).waitFor();
  await page.getByRole("button", { name: "Smaller" }).click();
  await page.getByRole("heading", { level: 1 }).scrollIntoViewIfNeeded();
  await shoot(page, "workflow-run");
  await start("36");
  await page.goto(`${server.url}/workflows/weave-order`);
  await page.getByRole("list", { name: "Runs" }).getByText("canceled").waitFor();
  await shoot(page, "workflow");
}

/** A change to a file in its thread, and the files of the workspace. */
async function takeWorkspace(page: Page): Promise<void> {
  await page.goto(`${server.url}/threads/poems?agent=assistant`);
  const view = ThreadView.on(page, "Assistant");
  await view.isLive();
  for (let poem = 0; poem < 2; poem++) {
    await view.say("write a poem");
    await page.getByTestId("change").nth(poem).waitFor();
    await view.isIdle();
  }
  await page.getByTestId("change").last().scrollIntoViewIfNeeded();
  await shoot(page, "change");
  await page.goto(`${server.url}/workspace`);
  await page.getByRole("button", { name: /poem/ }).first().click();
  await page.getByLabel(/poem/).last().waitFor();
  await shoot(page, "workspace");
}

/** A thread with notes in the prompt, and an observation in progress. */
async function takeMemory(page: Page): Promise<void> {
  await page.goto(`${server.url}/threads/a-long-talk?agent=assistant`);
  const view = ThreadView.on(page, "Assistant");
  await view.isLive();
  const words = ["my cat is called Loom", "we live in Turin", "I weave denim", "my loom is from 1911"];
  const log = page.getByTestId("memory-chunk");
  for (let turn = 0; (await log.locator(".badge", { hasText: "tokens" }).count()) < 2; turn++) {
    await view.say(words[turn] ?? `and then I wove row ${turn}`);
    await page.getByText("You said:").nth(turn).waitFor();
    await view.isIdle();
    await page.waitForTimeout(2_500);
  }
  await view.say("and now it rains");
  await page.getByTestId("memory-job").getByText("observing").waitFor();
  await log.first().locator("summary").click();
  await page.getByTestId("memory").scrollIntoViewIfNeeded();
  await shoot(page, "memory");
}

/** From the start page to a call that waits for permission. */
async function takeSession(page: Page): Promise<void> {
  await page.goto(server.url);
  const plan = page.getByRole("button", { name: "plan a trip" });
  await plan.waitFor();
  await shoot(page, "start");
  await plan.click();
  await page.getByLabel("Lisbon").check();
  await page.getByRole("button", { name: "Answer" }).click();
  await page.getByRole("button", { name: "Approve the plan" }).waitFor();
  await shoot(page, "plan");
  await page.getByRole("button", { name: "Approve the plan" }).click();
  await page.getByRole("button", { name: "Always for this category" }).waitFor();
  await page.getByRole("button", { name: "Open its thread" }).click();
  await page.locator(".subagent").getByText("I found").waitFor();
  await page.getByTestId("tool-call").filter({ hasText: "write-note" }).scrollIntoViewIfNeeded();
  await shoot(page, "session");
}

async function shoot(page: Page, name: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const path = join(folder, `studio-${name}-${colorScheme}.png`);
    await page.screenshot({ path, animations: "disabled" });
    console.log(path);
  }
}
