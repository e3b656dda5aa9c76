import type { Page } from "playwright-core";
import { pageText } from "../page-text.ts";
import { snapshotPage } from "../snapshot-page.ts";
import { fault } from "../tool-fault.ts";
import { within } from "../within.ts";
import { type BrowserTool, fields, REF } from "./browser-tool.ts";

export const snapshotTool: BrowserTool<{ interactiveOnly?: boolean; maxDepth?: number }> = {
  name: "browser_snapshot",
  description:
    "See the page as a tree of elements. Elements have refs for the other tools. Pass interactiveOnly: false to read its text.",
  category: "read",
  idempotent: true,
  inputSchema: fields(
    {},
    { interactiveOnly: { type: "boolean", default: true }, maxDepth: { type: "integer", minimum: 1 } },
  ),
  async run({ session, system, timeout }, { interactiveOnly = true, maxDepth }) {
    const page = await session.page();
    const options = { interactiveOnly, depth: maxDepth, timeout };
    const tree = await within(system, timeout, snapshotPage(page, options));
    session.snapshotTaken(page);
    return pageText(page.url(), tree);
  },
};

const MAX_IMAGE_BYTES = 400_000;
const MAX_IMAGE_HEIGHT = 8000;
const QUALITIES = [80, 50, 20];

export const screenshotTool: BrowserTool<{ fullPage?: boolean }> = {
  name: "browser_screenshot",
  description: "Take a picture of the page.",
  category: "read",
  idempotent: true,
  inputSchema: fields({}, { fullPage: { type: "boolean", default: false } }),
  async run({ session, timeout }, { fullPage = false }) {
    const page = await session.page();
    for (const quality of QUALITIES) {
      const image = await picture(page, fullPage, quality, timeout);
      if (image.length <= MAX_IMAGE_BYTES)
        return { mediaType: "image/jpeg", image: image.toString("base64") };
    }
    throw fault("image-too-large", "The picture is too large.", "Call it again without fullPage.");
  },
  toModelOutput: ({ image, mediaType, ...rest }) =>
    image === undefined
      ? { type: "json", value: rest }
      : {
          type: "content",
          value: [
            { type: "text", text: JSON.stringify(rest) },
            { type: "file", data: { type: "data", data: image }, mediaType },
          ],
        },
};

async function picture(page: Page, fullPage: boolean, quality: number, timeout: number): Promise<Buffer> {
  const options = { type: "jpeg", quality, timeout, animations: "disabled", caret: "initial" } as const;
  if (!fullPage) return page.screenshot(options);
  const height = await page.evaluate<number>("document.documentElement.scrollHeight");
  const width = page.viewportSize()?.width ?? 1280;
  const clip = { x: 0, y: 0, width, height: Math.min(height, MAX_IMAGE_HEIGHT) };
  return page.screenshot({ ...options, fullPage: true, clip });
}

export const scrollTool: BrowserTool<{
  direction: "up" | "down" | "left" | "right";
  amount?: number;
  ref?: string;
}> = {
  name: "browser_scroll",
  description: "Scroll the page, or the element of a ref, by a number of pixels.",
  category: "read",
  inputSchema: fields(
    { direction: { type: "string", enum: ["up", "down", "left", "right"] } },
    { amount: { type: "integer", minimum: 1, maximum: 100_000, default: 300 }, ref: REF },
  ),
  async run({ session, timeout }, { direction, amount = 300, ref }) {
    const page = await session.page();
    if (ref !== undefined) await (await session.element(ref)).hover({ timeout });
    else {
      const { width = 1280, height = 720 } = page.viewportSize() ?? {};
      await page.mouse.move(width / 2, height / 2);
    }
    const by = direction === "up" || direction === "left" ? -amount : amount;
    const isVertical = direction === "up" || direction === "down";
    await session.act(() => page.mouse.wheel(isVertical ? 0 : by, isVertical ? by : 0));
    return {};
  },
};

export const hoverTool: BrowserTool<{ ref: string }> = {
  name: "browser_hover",
  description: "Move the mouse over an element.",
  category: "read",
  inputSchema: fields({ ref: REF }),
  async run({ session, timeout }, { ref }) {
    await (await session.element(ref)).hover({ timeout });
    return {};
  },
};
