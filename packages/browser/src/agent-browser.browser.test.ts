import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { chromiumPath, openBrowser, refOf, serve, toolsOf } from "./__fixtures__/test-browser.ts";

const FORM = `<title>Form</title><h1>Order</h1><p>Plain words</p>
<form action="/sent"><input aria-label="Name" name="name"><select aria-label="Size" name="size"><option value="s">Small<option value="l">Large</select>
<button>Send</button></form><a href="/next">Next page</a>
<button onclick="this.remove()">Vanish</button>
<button onclick="document.title = confirm('Really?') ? 'yes' : 'no'">Ask</button>
<div id="a" draggable="true" ondragstart="event.dataTransfer.setData('text/plain','x')">drag me</div>
<div id="b" ondragover="event.preventDefault()" ondrop="document.title='dropped'">drop here</div>
<iframe srcdoc="<button onclick='parent.document.title=1'>Inner</button>"></iframe>`;

describe.skipIf(chromiumPath() === undefined)("AgentBrowser", () => {
  it("opens a page, shows it with refs, and uses its elements", async () => {
    const site = await serve({ "/": FORM, "/sent": "<title>Sent</title>", "/next": "<title>Next</title>" });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    expect(await call("goto", { url: site.origin })).toMatchObject({
      success: true,
      url: `${site.origin}/`,
      title: "Form",
      status: 200,
    });
    const page = await call("snapshot");
    expect(page.content).toContain(`<page-content origin="${site.origin}">`);
    expect(page.note).toMatch(/content from a web page/);
    expect(page.content).not.toContain("Plain words");
    expect((await call("snapshot", { interactiveOnly: false })).content).toContain("Plain words");
    await call("type", { ref: refOf(page, 'textbox "Name"'), text: "Ada" });
    await call("type", { ref: `@${refOf(page, 'textbox "Name"')}`, text: "Grace", clear: true });
    await call("select", { ref: refOf(page, 'combobox "Size"'), label: "Large" });
    expect(await call("hover", { ref: refOf(page, "Next page") })).toMatchObject({ success: true });
    expect(await call("scroll", { direction: "down" })).toMatchObject({ success: true });
    const sent = await call("click", { ref: refOf(page, 'button "Send"') });
    expect(sent).toMatchObject({
      success: true,
      url: `${site.origin}/sent?name=Grace&size=l`,
      title: "Sent",
    });
    expect(await call("back")).toMatchObject({ success: true, title: "Form" });
    expect(site.hits.filter((hit) => hit.startsWith("/sent"))).toHaveLength(1);
  });

  it("presses keys, drags, answers dialogs, and reaches into frames", async () => {
    const site = await serve({ "/": FORM, "/next": "<title>Next</title>" });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    await call("goto", { url: site.origin, waitUntil: "load" });
    const page = await call("snapshot", { interactiveOnly: false });
    expect(await call("dialog", { triggerRef: refOf(page, 'button "Ask"'), action: "accept" })).toMatchObject(
      { success: true, dialog: "confirm", title: "yes" },
    );
    expect(
      await call("dialog", { triggerRef: refOf(page, 'button "Ask"'), action: "dismiss" }),
    ).toMatchObject({ title: "no" });
    // Without a tool that answers, a dialog is dismissed, and the model learns about it.
    const clicked = await call("click", { ref: refOf(page, 'button "Ask"') });
    expect(clicked).toMatchObject({ success: true, notices: [expect.stringContaining('"Really?"')] });
    expect(await call("drag", { sourceSelector: "#a", targetSelector: "#b" })).toMatchObject({
      title: "dropped",
    });
    const inner = refOf(page, 'button "Inner"');
    expect(inner).toMatch(/^f\d+e\d+$/);
    expect(await call("click", { ref: inner })).toMatchObject({ success: true, title: "1" });
    await call("hover", { ref: refOf(page, "Next page") });
    await call("evaluate", { script: "document.querySelector('a').focus()" });
    await call("press", { key: "Enter", waitUntil: "load" });
    await expect.poll(async () => (await call("tabs", { action: "list" })).title).toBe("Next");
  });

  it("refuses refs of an older snapshot, with a hint", async () => {
    const site = await serve({ "/": FORM, "/next": "<title>Next</title><button>Other</button>" });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    await call("goto", { url: site.origin });
    const stale = { success: false, code: "stale-ref", hint: expect.stringContaining("new snapshot") };
    expect(await call("click", { ref: "e1" })).toMatchObject(stale);
    const page = await call("snapshot");
    const vanish = refOf(page, "Vanish");
    expect(await call("click", { ref: vanish })).toMatchObject({ success: true });
    expect(await call("click", { ref: vanish })).toMatchObject(stale);
    expect(await call("wait", { ref: vanish, state: "detached" })).toMatchObject({ success: true });
    expect(await call("click", { ref: "f9e1" })).toMatchObject(stale);
    expect(await call("click", { ref: "button" })).toMatchObject({ code: "invalid-ref" });
    await call("goto", { url: `${site.origin}/next` });
    expect(await call("click", { ref: refOf(page, 'button "Send"') })).toMatchObject(stale);
    await call("snapshot");
    await call("tabs", { action: "new", url: `${site.origin}/next` });
    expect(await call("click", { ref: "e2" })).toMatchObject(stale);
  });

  it("takes pictures that the model sees as images", async () => {
    const site = await serve({ "/": `<body style="height: 30000px">tall` });
    const browser = openBrowser({ allowedOrigins: [site.origin] });
    const call = toolsOf(browser);
    await call("goto", { url: site.origin });
    const tool = browser.getTools()["browser_screenshot"] as never as {
      definition: { toModelOutput(result: object): { value: { type: string }[] } };
    };
    for (const fullPage of [false, true]) {
      const picture = await call("screenshot", { fullPage });
      expect(picture).toMatchObject({ success: true, mediaType: "image/jpeg" });
      expect(Buffer.from(String(picture["image"]), "base64").subarray(0, 2).toString("hex")).toBe("ffd8");
      const { value } = tool.definition.toModelOutput(picture);
      expect(value.map(({ type }) => type)).toEqual(["text", "file"]);
      expect(JSON.stringify(value[0])).not.toContain(picture["image"]);
    }
  });

  it("lists, opens, switches and closes tabs, also those that a page opens", async () => {
    const site = await serve({
      "/": `<title>One</title><button onclick="window.open('/two')">Open</button>`,
      "/two": "<title>Two</title>",
    });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    await call("goto", { url: site.origin });
    const opened = await call("click", { ref: refOf(await call("snapshot"), "Open") });
    expect(opened).toMatchObject({ title: "One", notices: [expect.stringContaining("new tab")] });
    await call("tabs", { action: "switch", index: 1 });
    expect(await call("wait")).toMatchObject({ title: "Two" });
    const list = await call("tabs", { action: "list" });
    expect(list.content).toContain(`1 (active): ${site.origin}/two "Two"`);
    expect(await call("tabs", { action: "close", index: 7 })).toMatchObject({ code: "no-such-tab" });
    expect(await call("tabs", { action: "close" })).toMatchObject({ success: true, title: "One" });
  });

  it("evaluates expressions, functions and statements, and cuts what is long", async () => {
    const site = await serve({
      "/": (_req, res) =>
        res.writeHead(200, { "content-security-policy": "default-src 'none'" }).end("<title>CSP</title>"),
    });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    await call("goto", { url: site.origin });
    const result = async (script: string, arg: unknown = null) =>
      (await call("evaluate", { script, arg })).content?.split("\n")[1];
    expect(await result("1 + 1")).toBe("2");
    expect(await result("(n) => n * 2", 21)).toBe("42");
    expect(await result("const x = document.title; return { x };")).toBe('{"x":"CSP"}');
    expect(await call("evaluate", { script: "nothing.here" })).toMatchObject({ code: "script-failed" });
    const long = await call("evaluate", { script: "'x'.repeat(200e6)" });
    expect(long.content!.length).toBeLessThan(26_000);
  });

  it("closes a tab whose script does not end, and continues", async () => {
    const site = await serve({ "/": "<title>x</title>" });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin], timeout: 2000 }));
    const page = { url: site.origin, timeout: 60_000 };
    await call("goto", page);
    expect(await call("evaluate", { script: "(() => { for (;;); })()" })).toMatchObject({
      success: false,
      code: "timeout",
      notices: [expect.stringContaining("closed")],
    });
    expect(await call("goto", page)).toMatchObject({ success: true });
  });

  it("uses a running browser, and leaves it and its pages as they are", async () => {
    const site = await serve({ "/": "<title>x</title>" });
    const folder = await mkdtemp(join(tmpdir(), "selvedge-cdp-"));
    const args = ["--headless", "--no-sandbox", "--remote-debugging-port=0", `--user-data-dir=${folder}`];
    const running = spawn(chromiumPath()!, [...args, "about:blank"], { detached: true });
    onTestFinished(async () => {
      process.kill(-running.pid!, "SIGKILL");
      await once(running, "exit");
      await rm(folder, { recursive: true, force: true, maxRetries: 10 });
    });
    let said = "";
    running.stderr.on("data", (piece) => (said += String(piece)));
    const address = (): string | undefined => /listening on (ws:\S+)/.exec(said)?.[1];
    await expect.poll(address).toBeDefined();
    const cdpUrl = address()!;
    const browser = openBrowser({ cdpUrl, allowedOrigins: [site.origin] });
    const [ada, ben] = [toolsOf(browser, "ada"), toolsOf(browser, "ben")];
    expect(browser.scope).toBe("shared");
    expect(await ada("goto", { url: site.origin })).toMatchObject({ success: true, title: "x" });
    expect(await ben("goto", { url: "http://127.0.0.1:8080/" })).toMatchObject({ code: "address-refused" });
    expect((await ben("tabs", { action: "list" })).content).toContain(site.origin);
    await browser.close();
    const again = toolsOf(openBrowser({ cdpUrl, allowedOrigins: [site.origin] }));
    expect((await again("tabs", { action: "list" })).content).toContain(site.origin);
  });

  it("gives each thread its own cookies and storage, in one Chromium", async () => {
    const site = await serve({
      "/": `<title></title><script>document.title = document.cookie + '|' + (localStorage.x ?? '')</script>`,
      "/login": `<script>document.cookie = 'user=ada'; localStorage.x = 'secret'</script>`,
    });
    const browser = openBrowser({ allowedOrigins: [site.origin] });
    const [ada, ben] = [toolsOf(browser, "ada"), toolsOf(browser, "ben")];
    await ada("goto", { url: `${site.origin}/login` });
    const [hers, his] = await Promise.all([
      ada("goto", { url: site.origin }),
      ben("goto", { url: site.origin }),
    ]);
    expect([hers.title, his.title]).toEqual(["user=ada|secret", "|"]);
    expect([browser.hasThreadSession("ada"), browser.hasThreadSession("eve")]).toEqual([true, false]);
    expect((await browser.getState("ada"))?.currentUrl).toBe(`${site.origin}/`);
    await browser.closeThreadSession("ada");
    expect(await browser.getState("ada")).toBeUndefined();
    expect((await ada("goto", { url: site.origin })).title).toBe("|");
  });

  it("runs the calls of one thread one after the other", async () => {
    const site = await serve({
      "/slow": (_req, res) => void setTimeout(() => res.end("<title>slow</title>"), 300),
      "/fast": "<title>fast</title>",
    });
    const call = toolsOf(openBrowser({ allowedOrigins: [site.origin] }));
    const titles = await Promise.all([
      call("goto", { url: `${site.origin}/slow` }),
      call("goto", { url: `${site.origin}/fast` }),
    ]);
    expect(titles.map(({ title }) => title)).toEqual(["slow", "fast"]);
  });

  it("closes the browser of an idle thread, then Chromium", async () => {
    const site = await serve({ "/": "<title>x</title>" });
    const browser = openBrowser({ allowedOrigins: [site.origin], idleMs: 200 });
    expect(await toolsOf(browser)("goto", { url: site.origin })).toMatchObject({ success: true });
    await expect.poll(() => browser.isBrowserRunning()).toBe(false);
    expect(browser.hasThreadSession("thread")).toBe(false);
    expect(await toolsOf(browser)("goto", { url: site.origin })).toMatchObject({ success: true });
  });

  it("refuses another thread where maxContexts are in use, and has room after one is closed", async () => {
    const site = await serve({ "/": "<title>x</title>" });
    const browser = openBrowser({ allowedOrigins: [site.origin], maxContexts: 1 });
    await toolsOf(browser, "one")("goto", { url: site.origin });
    expect(await toolsOf(browser, "two")("goto", { url: site.origin })).toMatchObject({
      success: false,
      code: "too-many-browsers",
      message: expect.stringContaining("maxContexts"),
    });
    expect(await toolsOf(browser, "one")("close")).toEqual({ success: true });
    expect(await toolsOf(browser, "two")("goto", { url: site.origin })).toMatchObject({ success: true });
  });

  it("says that an action's outcome is unknown when Chromium dies, and starts it again", async () => {
    const site = await serve({
      "/": `<title>x</title><button onclick="for(;;);">Hang</button><button>Other</button>`,
    });
    const browser = openBrowser({ allowedOrigins: [site.origin] });
    const call = toolsOf(browser);
    await call("goto", { url: site.origin });
    const page = await call("snapshot");
    const clicking = call("click", { ref: refOf(page, "Hang") });
    killChromium();
    expect(await clicking).toMatchObject({ success: false, code: "tool-outcome-unknown" });
    expect(browser.closeReason("thread")).toBe("error");
    expect(await call("goto", { url: site.origin })).toMatchObject({ success: true });
  });

  it("names the option to set if Chromium cannot use its sandbox", async (test) => {
    test.skip(process.getuid?.() !== 0, "only root cannot use the sandbox");
    const browser = openBrowser({ chromiumSandbox: true });
    expect(await toolsOf(browser)("goto", { url: "https://example.com" })).toMatchObject({
      success: false,
      code: "not-supported",
      message: expect.stringContaining("chromiumSandbox: false"),
    });
    expect(browser.status).toBe("error");
  });
});

/** Kills the Chromium of this process. */
function killChromium(): void {
  const children = execFileSync("ps", ["-o", "pid=,args=", "--ppid", String(process.pid)], {
    encoding: "utf8",
  });
  for (const line of children.split("\n"))
    if (line.includes("--remote-debugging-pipe")) process.kill(Number.parseInt(line, 10), "SIGKILL");
}
