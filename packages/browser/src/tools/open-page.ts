import { errorMessage } from "@selvedge/core/errors";
import type { Page } from "playwright-core";
import { quoted } from "../page-text.ts";
import type { WaitUntil } from "../thread-session.ts";
import { fault } from "../tool-fault.ts";
import type { ToolCall } from "./browser-tool.ts";

const ERROR_PAGE_MS = 2000;

/** The URL of a page that an agent may open. */
function checkUrl(url: string): URL {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed && (/^https?:$/.test(parsed.protocol) || parsed.href === "about:blank")) return parsed;
  throw fault(
    "url-refused",
    `${quoted(url)} cannot be opened.`,
    "Pass a full URL that starts with http:// or https://.",
  );
}

/** Opens a URL in a tab, and says why if it was refused on the way. */
export async function openPage(
  { refusalOf, checkAddress, timeout }: ToolCall,
  page: Page,
  input: { url: string; waitUntil?: WaitUntil; timeout?: number },
): Promise<{ status?: number }> {
  const url = checkUrl(input.url);
  refuse(await checkAddress(url));
  let failedUrl = url.href;
  const onFailed = (request: { url(): string; isNavigationRequest(): boolean }): void => {
    if (request.isNavigationRequest()) failedUrl = request.url();
  };
  page.on("requestfailed", onFailed);
  try {
    const options = {
      waitUntil: input.waitUntil ?? "domcontentloaded",
      timeout: input.timeout ?? timeout,
    } as const;
    const response = await page.goto(url.href, options).catch((error: unknown) => {
      // A page that was still opening, such as an error page, interrupted this one.
      if (!errorMessage(error).includes("interrupted by another navigation")) throw error;
      return page.goto(url.href, options);
    });
    if (response?.status() === 403) refuse(refusalOf(response.url()));
    return response ? { status: response.status() } : {};
  } catch (error) {
    // The address was a file. What happened to it is among the notices.
    if (/Download is starting/.test(errorMessage(error))) return {};
    if (!/net::ERR_/.test(errorMessage(error))) throw error;
    await page.waitForURL(/^chrome-error:/, { timeout: ERROR_PAGE_MS, waitUntil: "commit" }).catch(() => {});
    refuse(refusalOf(failedUrl));
    throw error;
  } finally {
    page.off("requestfailed", onFailed);
  }
}

function refuse(reason: string | undefined): void {
  if (reason !== undefined)
    throw fault("address-refused", reason, "Use another address. The app decides which ones are allowed.");
}
