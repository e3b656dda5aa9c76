import { pageText } from "../page-text.ts";
import type { WaitUntil } from "../thread-session.ts";
import { fault } from "../tool-fault.ts";
import { type BrowserTool, fields, REF, TEXT, TIMEOUT, WAIT_UNTIL } from "./browser-tool.ts";
import { openPage } from "./open-page.ts";

export const gotoTool: BrowserTool<{ url: string; waitUntil?: WaitUntil; timeout?: number }> = {
  name: "browser_goto",
  description: "Open a web page by URL. Then call browser_snapshot to see it.",
  category: "read",
  inputSchema: fields(
    { url: { type: "string", description: "A full URL." } },
    { waitUntil: WAIT_UNTIL, timeout: TIMEOUT },
  ),
  run: async (call, input) => openPage(call, await call.session.page(), input),
};

export const backTool: BrowserTool<object> = {
  name: "browser_back",
  description: "Go back to the previous page of this tab.",
  category: "read",
  inputSchema: fields({}),
  async run({ session, timeout }) {
    const page = await session.page();
    const before = page.url();
    await page.goBack({ waitUntil: "domcontentloaded", timeout });
    if (page.url() === before)
      throw fault("no-history", "This tab has no previous page.", "Open a page with browser_goto.");
    return {};
  },
};

export const tabsTool: BrowserTool<{
  action: "list" | "new" | "switch" | "close";
  index?: number;
  url?: string;
}> = {
  name: "browser_tabs",
  description: "List, open, switch or close tabs. Indexes start at 0.",
  category: "read",
  inputSchema: fields(
    { action: { type: "string", enum: ["list", "new", "switch", "close"] } },
    { index: { type: "integer", minimum: 0 }, url: TEXT },
  ),
  async run(call, { action, index, url }) {
    const { session } = call;
    if (action === "new") {
      const page = await session.newTab();
      if (url !== undefined) await openPage(call, page, { url });
    } else if (action !== "list") {
      const page = index === undefined ? await session.page() : session.tabs[index];
      if (!page)
        throw fault(
          "no-such-tab",
          `There is no tab ${index}. There are ${session.tabs.length}.`,
          "List the tabs first.",
        );
      if (action === "switch") await session.switchTo(page);
      else await page.close();
    }
    const state = await session.state();
    const lines = state?.tabs.map(({ url: at, title }, position) => {
      const mark = position === state.activeTabIndex ? " (active)" : "";
      return `${position}${mark}: ${at} ${JSON.stringify(title)}`;
    });
    return pageText(state?.currentUrl ?? "", lines?.join("\n") ?? "(no tabs)");
  },
};

export const waitTool: BrowserTool<{
  ref?: string;
  state?: "visible" | "hidden" | "attached" | "detached";
  timeout?: number;
}> = {
  name: "browser_wait",
  description: "Wait for an element to reach a state. Without a ref, wait until the network is idle.",
  category: "read",
  idempotent: true,
  inputSchema: fields(
    {},
    {
      ref: REF,
      state: { type: "string", enum: ["visible", "hidden", "attached", "detached"], default: "visible" },
      timeout: { ...TIMEOUT, default: 30_000 },
    },
  ),
  async run({ session }, { ref, state = "visible", timeout = 30_000 }) {
    if (ref === undefined) {
      await (await session.page()).waitForLoadState("networkidle", { timeout });
      return {};
    }
    const isGone = state === "hidden" || state === "detached";
    const element = isGone ? await session.findElement(ref) : await session.element(ref);
    await element?.waitFor({ state, timeout });
    return {};
  },
};

export const closeTool: BrowserTool<object> = {
  name: "browser_close",
  description: "Close the browser. All pages and logins are lost.",
  category: "read",
  idempotent: true,
  inputSchema: fields({}),
  async run({ closeSession }) {
    await closeSession();
    return {};
  },
};
