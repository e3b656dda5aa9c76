import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findChromium, launch } from "./browser.ts";
import { StudioServer } from "./studio-server.ts";
import { ThreadView } from "./thread-view.ts";

const BUILD = fileURLToPath(new URL("../../scripts/build-studio.mjs", import.meta.url));
const chromium = findChromium();

/** Where the pictures of the README are written; without it they are made and thrown away. */
const wanted = process.env["SELVEDGE_SCREENSHOTS"];

describe.skipIf(chromium === undefined)("Pictures of the studio", { timeout: 90_000 }, () => {
  let server: StudioServer;
  let browser: Browser;
  let folder: string;

  beforeAll(async () => {
    execFileSync(process.execPath, [BUILD, "--if-stale"]);
    folder = wanted ?? (await mkdtemp(join(tmpdir(), "selvedge-pictures-")));
    await mkdir(folder, { recursive: true });
    [server, browser] = await Promise.all([StudioServer.start(), launch(chromium!)]);
  }, 60_000);
  afterAll(async () => {
    await Promise.all([server?.close(), browser?.close()]);
    if (wanted === undefined) await rm(folder, { recursive: true, force: true });
  });

  async function shoot(page: Page, name: string): Promise<void> {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const path = join(folder, `studio-${name}-${colorScheme}.png`);
      await page.screenshot({ path, animations: "disabled" });
      expect((await stat(path)).size).toBeGreaterThan(10_000);
    }
  }

  it("show a live thread, an approval and a timeline, in light and in dark", async () => {
    const context = await browser.newContext({
      viewport: { width: 1320, height: 820 },
      deviceScaleFactor: 1.25,
      locale: "en-GB",
    });
    const view = await ThreadView.open(context, server.url, "spring-orders");
    const { page } = view;
    await page.getByLabel("Your name").fill("Ada");
    await view.say("what is 48 * (12 + 7)?");
    await view.shows("48 * (12 + 7) = 912.");
    await view.isIdle();
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
    await page.getByRole("navigation", { name: "Runs" }).getByText("stopped").waitFor();
    await page.getByRole("navigation", { name: "Runs" }).getByText("stopped").click();
    await page.locator(".timeline-step").first().waitFor();
    await shoot(page, "runs");
    await context.close();
  });
});
