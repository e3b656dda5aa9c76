import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentBrowser } from "@selvedge/browser";
import { LocalFilesystem, LocalSandbox, Workspace } from "@selvedge/core/workspace";
import type { Browser, BrowserContext } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { findChromium, launch, openContext } from "./browser.ts";
import { PAGE_WIDTH, UNNAMED } from "./in-page.ts";
import { ThreadView } from "./thread-view.ts";
import { openWorkshop, type Workshop } from "./workshop.ts";

const chromium = findChromium();

describe.skipIf(chromium === undefined)("The studio with a workspace", { tags: ["long"] }, () => {
  let folder: string;
  let browser: Browser;
  let context: BrowserContext;
  let open: Workshop;
  let withSessions: Workshop;
  let problems: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "studio-workspace-"));
    const files = new LocalFilesystem({ basePath: folder });
    await files.writeFile("docs/loom.md", "# Loom\n\nThreading the heddles takes an hour.\n");
    await files.writeFile(
      "skills/weave/SKILL.md",
      "---\nname: weave\ndescription: Weaves.\n---\nWarp **first**.",
    );
    const workspace = new Workspace({
      id: "cloth",
      name: "Cloth",
      filesystem: files,
      sandbox: new LocalSandbox({ workingDirectory: folder, isolation: "none", logger: false }),
      bm25: true,
      autoIndexPaths: ["docs"],
      skills: ["skills"],
      tools: { requireApproval: false },
      browser: new AgentBrowser({
        executablePath: chromium!,
        allowPrivateNetwork: true,
        chromiumSandbox: process.getuid?.() !== 0,
      }),
    });
    [open, withSessions, browser] = await Promise.all([
      openWorkshop({ workspace }),
      openWorkshop({ workspace, withController: true }),
      launch(chromium!),
    ]);
  });
  afterAll(async () => {
    await Promise.all([open?.close(), withSessions?.close(), browser?.close()]);
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    problems = [];
    context = await openContext(browser);
    context.on("weberror", (error) => problems.push(error.error().message));
    context.on("console", (message) => {
      // The browser reports a refused undo, and the title of a thread that is not stored yet.
      const isExpected = /\b409\b/.test(message.text()) || /\/api\/memory\//.test(message.location().url);
      if (message.type() === "error" && !isExpected) problems.push(message.text());
    });
    await writeFile(join(folder, "plan.md"), "warp\nweft\n");
  });
  afterEach(async () => {
    await context.close();
    expect(problems).toEqual([]);
  });

  async function thread(): Promise<ThreadView> {
    const page = await context.newPage();
    await page.goto(`${open.url}/agents`);
    await page.locator(".agent-card").getByRole("link", { name: "New thread" }).click();
    const view = ThreadView.on(page, "Loom");
    await view.isLive();
    await view.say("hello");
    await view.shows("You said: hello");
    return view;
  }

  const edit = (to: string): string =>
    `tool mastra_workspace_edit_file ${JSON.stringify({ path: "plan.md", old_string: "weft", new_string: to })}`;
  const plan = (): Promise<string> => readFile(join(folder, "plan.md"), "utf8");

  it("shows a change with its diff, and undoes it", async () => {
    const view = await thread();
    const { page } = view;
    await view.say(edit("indigo weft"));
    const card = page.getByTestId("change");
    await card.locator('[data-line="removed"]', { hasText: /^weft$/ }).waitFor();
    await card.locator('td[data-line="added"]', { hasText: /^indigo weft$/ }).waitFor();
    const { width, height } = page.viewportSize()!;
    await page.setViewportSize({ width: 480, height });
    await card.getByText("-weft").waitFor();
    await card.getByText("+indigo weft").waitFor();
    await page.setViewportSize({ width, height });
    expect(await plan()).toContain("indigo weft");
    const undo = page.getByRole("button", { name: "Undo the change to plan.md" });
    await undo.waitFor();
    await undo.click();
    await card.getByText("undone", { exact: true }).waitFor();
    expect(await plan()).toBe("warp\nweft\n");
    await page.reload();
    await page.getByTestId("change").getByText("undone", { exact: true }).waitFor();
    expect(await page.evaluate(UNNAMED)).toEqual([]);
  });

  it("does not undo a change to a file that has changed since, and says so", async () => {
    const view = await thread();
    await view.say(edit("red weft"));
    const undo = view.page.getByRole("button", { name: "Undo the change to plan.md" });
    await undo.waitFor();
    await writeFile(join(folder, "plan.md"), "by hand\n");
    await undo.click();
    await view.page.getByTestId("change").getByText("it has changed since").waitFor();
    expect(await undo.isDisabled()).toBe(true);
    expect(await plan()).toBe("by hand\n");
  });

  it("lists the background processes of a workspace, and kills one", async () => {
    const view = await thread();
    const input = { command: "sleep 654321", background: true };
    await view.say(`tool mastra_workspace_execute_command ${JSON.stringify(input)}`);
    await view.shows("Started in the background");
    const { page } = view;
    await page.goto(`${open.url}/workspace`);
    const row = page.getByTestId("process").filter({ hasText: "sleep 654321" });
    await row.getByText("running").waitFor();
    await row.getByRole("button", { name: /^Kill process / }).click();
    await row.getByText(/^exit /).waitFor();
    expect(await row.getByRole("button").count()).toBe(0);
    expect(await page.evaluate(UNNAMED)).toEqual([]);
  });

  it("shows the picture of a page that an agent took", async () => {
    const view = await thread();
    await view.say(`tool browser_goto ${JSON.stringify({ url: `${open.url}/agents` })}`);
    await view.page.getByTestId("tool-call").getByText("done", { exact: true }).waitFor();
    await view.say("tool browser_screenshot {}");
    const picture = view.page.getByTestId("screenshot");
    await picture.waitFor();
    expect(await view.page.evaluate('document.querySelector(".screenshot").naturalWidth')).toBe(1280);
    expect(await view.page.getByTestId("tool-call").last().textContent()).not.toContain("base64");
  });

  it("shows the output of a command while it runs, and its exit code", async () => {
    const view = await thread();
    const command = "echo begin; while [ ! -e go ]; do sleep 0.05; done; seq 1 20000; exit 3";
    await view.say(`tool mastra_workspace_execute_command ${JSON.stringify({ command })}`);
    const card = view.page.getByTestId("terminal");
    await card.locator("pre", { hasText: /^begin/ }).waitFor();
    await card.getByText("running").waitFor();
    await writeFile(join(folder, "go"), "");
    await card.getByText(/^exit 3/).waitFor();
    await card.locator("pre", { hasText: "20000" }).waitFor();
    expect((await card.locator("pre").textContent())!.length).toBeLessThanOrEqual(64 * 1024 + 1);
  });

  it("shows the output of a command of a session while it runs", async () => {
    const page = await context.newPage();
    await page.goto(withSessions.url);
    const command = "echo begin; while [ ! -e on ]; do sleep 0.05; done";
    await page
      .getByLabel("First message")
      .fill(`tool mastra_workspace_execute_command ${JSON.stringify({ command })}`);
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Approve", exact: true }).first().click();
    const call = page.getByTestId("tool-call");
    await call.locator("pre", { hasText: /^begin/ }).waitFor();
    await writeFile(join(folder, "on"), "");
    await call.getByText("done", { exact: true }).waitFor();
  });

  it("has a page with the files, a search and the skills of a workspace", async () => {
    const page = await context.newPage();
    await page.goto(`${open.url}/workspace`);
    await page.getByRole("heading", { name: "Cloth" }).waitFor();
    await page.locator("summary", { hasText: "weave" }).click();
    await page.getByText("Warp first.").waitFor();
    await page.getByRole("button", { name: "docs", exact: true }).click();
    await page.getByRole("button", { name: "loom.md" }).click();
    await page.getByLabel("docs/loom.md").getByText("Threading the heddles").waitFor();
    await page.getByRole("heading", { name: "Cloth" }).getByRole("link").click();
    await page.locator("summary", { hasText: "weave" }).waitFor();
    await page.getByLabel("Search the workspace").fill("heddles");
    await page.getByLabel("Found passages").getByText("docs/loom.md").waitFor();
    expect(await page.evaluate(UNNAMED)).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    expect(await page.evaluate(PAGE_WIDTH)).toBeLessThanOrEqual(390);
  });
});
