import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { findPty, TestTerminal } from "../terminal/test-terminal.ts";
import { findChromium, launch, openContext } from "./browser.ts";
import { StudioServer } from "./studio-server.ts";
import { ThreadView } from "./thread-view.ts";

const chromium = findChromium();
const pty = await findPty();

describe.skipIf(chromium === undefined || "missing" in pty)("one session in two tabs and a terminal", () => {
  it(
    "is answered from any of them, through a reload and a kill of the server, with nothing lost or asked twice",
    { tags: ["long"] },
    async () => {
      const [server, browser] = await Promise.all([StudioServer.start(), launch(chromium!)]);
      onTestFinished(() => Promise.all([server.close(), browser.close()]).then(() => {}));
      const cwd = await mkdtemp(join(tmpdir(), "selvedge-three-"));
      onTestFinished(() => rm(cwd, { recursive: true, force: true }));
      const context = await openContext(browser);

      const page = await context.newPage();
      await page.goto(server.url);
      await page.getByRole("button", { name: "plan a trip" }).click();
      await page.waitForURL(/\/sessions\/demo\//);
      const sessionId = new URL(page.url()).pathname.split("/").at(-1)!;
      const second = await context.newPage();
      await second.goto(page.url());
      const [one, two] = [ThreadView.on(page, "demo"), ThreadView.on(second, "demo")];
      const terminal = await TestTerminal.start(["chat", "--url", server.url, "--session", sessionId], {
        cwd,
        columns: 100,
        rows: 40,
      });
      onTestFinished(() => terminal.stop());
      const mode = (view: ThreadView): Promise<string> =>
        view.page.getByLabel("Mode", { exact: true }).inputValue();

      // The terminal answers the question, and both tabs show the plan.
      await terminal.shows("Where should the trip go?");
      terminal.type("2\r");
      for (const view of [one, two]) await view.button("Approve the plan").waitFor();
      await terminal.shows("5 days in Kyoto");

      // One tab is loaded again while the server is killed and started.
      await server.kill();
      await Promise.all([one.badge("reconnecting").waitFor(), terminal.shows("reconnecting …")]);
      await server.start();
      await second.reload();
      await Promise.all([one.isLive(), two.isLive(), terminal.shows("Connected again.")]);

      // A tab approves the plan: all three are in the other mode.
      await two.button("Approve the plan").click();
      await one.button("Approve the plan").waitFor({ state: "detached" });
      for (const view of [one, two]) await expect.poll(() => mode(view)).toBe("build");
      await terminal.shows((text) => text.split("\n").at(-1)!.startsWith("build"));

      // The terminal allows the note, and no tab asks any more.
      await terminal.shows("Allow write-note");
      for (const view of [one, two]) await view.button("Approve").waitFor();
      terminal.type("y\r");
      for (const view of [one, two]) {
        await view.shows("for a different one.");
        expect(await view.button("Approve").count()).toBe(0);
      }
      await terminal.isIdle();

      // What is queued in a tab waits in the terminal, too.
      await one.say("ask me something");
      await terminal.shows("What are you making?");
      await two.page.getByLabel("What are you making?").waitFor();
      await two.say("what is 1 + 1?", "Control+Enter");
      await terminal.shows("1 queued");
      await one.page.getByLabel("What are you making?").fill("a coat");
      await one.page.keyboard.press("Enter");
      await Promise.all([one.shows("1 + 1 = 2."), two.shows("1 + 1 = 2."), terminal.shows("1 + 1 = 2.")]);
      await terminal.isIdle();

      const inTerminal = terminal.text({ all: true });
      const inTabs = await Promise.all([one, two].map(async (view) => (await view.transcript()).join("\n")));
      expect(inTabs[0]).toBe(inTabs[1]);
      for (const piece of [
        "plan a trip",
        "First, I need to know one thing.",
        "This is what I would do.",
        "Thank you. I'll start now.",
        "The scout is back. Now the cost.",
        "I wrote it down.",
        "for a different one.",
        "a real tool calculated it",
      ].map((text) => new RegExp(text.replaceAll(".", "\\."), "gi")))
        for (const shown of [inTerminal, ...inTabs])
          expect(shown.replaceAll(/\s+/g, " ").match(piece), `${piece} in ${shown}`).toHaveLength(1);
    },
  );
});
