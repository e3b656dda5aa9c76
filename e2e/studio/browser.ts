import { execFileSync } from "node:child_process";
import { type Browser, type BrowserContext, chromium } from "playwright-core";

/** Only what hangs takes this long, on any machine. */
export const PATIENCE_MS = 100_000;

/** Where Chromium is, if it is. `scripts/ensure-chromium` installs it where it can. */
export function findChromium(): string | undefined {
  const named = process.env["SELVEDGE_CHROMIUM"];
  if (named) return named;
  try {
    return execFileSync("/bin/sh", ["-c", "command -v chromium || command -v chromium-browser"], {
      encoding: "utf8",
    }).trim();
  } catch {
    return undefined;
  }
}

export function launch(executablePath: string): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
}

/** A browser window as the tests use it. */
export async function openContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, locale: "en-GB" });
  context.setDefaultTimeout(PATIENCE_MS);
  return context;
}
