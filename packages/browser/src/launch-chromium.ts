import { AgentError, errorMessage } from "@selvedge/core/errors";
import type { Browser } from "playwright-core";
import { findChromium } from "./find-chromium.ts";

export interface LaunchOptions {
  executablePath?: string | undefined;
  chromiumSandbox: boolean;
  headless: boolean;
  timeout: number;
  proxyUrl: string;
  downloadsPath: string | undefined;
  fitWindow: boolean;
}

/** Nothing may go around the proxy: no name lookups, no UDP, no exception for loopback. */
const CONTAINED = [
  "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
  "--webrtc-ip-handling-policy=disable_non_proxied_udp",
  // Its older name.
  "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
  "--disable-quic",
  "--dns-prefetch-disable",
  "--no-pings",
  "--disable-domain-reliability",
];

export async function launchChromium(options: LaunchOptions): Promise<Browser> {
  const { chromiumSandbox, headless, timeout, proxyUrl, downloadsPath } = options;
  const executablePath = findChromium(options.executablePath);
  if (chromiumSandbox && process.getuid?.() === 0) throw noSandbox("as root");
  const { chromium } = await import("playwright-core");
  try {
    return await chromium.launch({
      executablePath,
      chromiumSandbox,
      headless,
      timeout,
      proxy: { server: proxyUrl, bypass: "<-loopback>" },
      args: [...CONTAINED, ...(options.fitWindow ? ["--start-maximized"] : [])],
      ...(downloadsPath !== undefined && { downloadsPath }),
      // The app decides what a signal does.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
  } catch (error) {
    if (/No usable sandbox|without --no-sandbox|crbug\.com\/(?:357670|638180)/.test(errorMessage(error)))
      throw noSandbox("on this machine");
    throw new AgentError("tool-failed", `Chromium (${executablePath}) did not start.`, { cause: error });
  }
}

function noSandbox(where: string): AgentError {
  return new AgentError(
    "not-supported",
    `Chromium's own sandbox does not work ${where}. Run the process as an ordinary user. If something else isolates it, such as a container, pass chromiumSandbox: false.`,
  );
}
