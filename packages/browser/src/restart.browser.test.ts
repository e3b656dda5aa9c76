import { execFileSync, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { browsingAgent, thread } from "./__fixtures__/browsing-agent.ts";
import { chromiumPath, serve } from "./__fixtures__/test-browser.ts";

const CHILD = new URL("__fixtures__/browsing-child.ts", import.meta.url);

describe.skipIf(chromiumPath() === undefined)("A process that is killed while it clicks", () => {
  it("leaves no Chromium, no second click, and a thread that knows", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-browser-"));
    const site = await serve({
      "/": `<title>x</title><button onclick="const r = new XMLHttpRequest(); r.open('GET', '/clicked', false); r.send(); for (;;);">Click</button>`,
      "/clicked": "",
    });
    const child = fork(CHILD, [folder, site.origin], { execArgv: ["--conditions=selvedge-source"] });
    await expect.poll(() => site.hits).toContain("/clicked");
    const [chromium] = execFileSync("ps", ["-o", "pid=", "--ppid", String(child.pid)], { encoding: "utf8" })
      .trim()
      .split(/\s+/)
      .map(Number);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(chromium).toBeGreaterThan(0);
    await expect.poll(() => isAlive(chromium!)).toBe(false);

    const { mastra, browser, model, storage } = browsingAgent(folder, site.origin);
    onTestFinished(async () => {
      await browser.close();
      await mastra.close();
      await rm(folder, { recursive: true, force: true });
    });
    await mastra.start();
    const history = async (): Promise<string> => {
      const domain = await storage.getStore("memory");
      return JSON.stringify(
        (await domain!.listMessages({ threadId: thread.threadId, perPage: false })).messages,
      );
    };
    await expect.poll(history).toContain("Done.");
    expect(await history()).toContain("tool-outcome-unknown");
    expect(await history()).toContain('"closeReason":"process_restart"');
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("the process restarted");
    expect(site.hits.filter((hit) => hit === "/clicked")).toHaveLength(1);
  });
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).startsWith("Z");
  } catch {
    return false;
  }
}
