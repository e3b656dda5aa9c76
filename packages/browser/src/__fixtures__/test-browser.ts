import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { AgentBrowser, type AgentBrowserOptions } from "../index.ts";
import { findChromium } from "../find-chromium.ts";

/** Where Chromium is, if it is. */
export function chromiumPath(): string | undefined {
  try {
    return findChromium(process.env["SELVEDGE_CHROMIUM"]);
  } catch {
    console.warn(
      "The tests of AgentBrowser are skipped: there is no chromium here (scripts/ensure-chromium).",
    );
    return undefined;
  }
}

export function openBrowser(options: AgentBrowserOptions = {}): AgentBrowser {
  const browser = new AgentBrowser({
    executablePath: chromiumPath()!,
    chromiumSandbox: process.getuid?.() !== 0,
    ...options,
  });
  onTestFinished(() => browser.close());
  return browser;
}

export interface Result {
  success: boolean;
  url?: string;
  title?: string;
  content?: string;
  code?: string;
  message?: string;
  hint?: string;
  notices?: string[];
  [more: string]: unknown;
}

/** Calls tools as the run of a thread does. */
export function toolsOf(browser: AgentBrowser, threadId = "thread", more: object = {}) {
  return async (name: string, input: object = {}): Promise<Result> => {
    const tool = browser.getTools()[`browser_${name}`] as {
      execute(input: object, options: object): Promise<Result>;
    };
    return tool.execute(input, { threadId, ...more });
  };
}

/** The ref of the element with this line in a snapshot. */
export function refOf({ content = "" }: Result, element: string): string {
  const line = content.split("\n").find((text) => text.includes(element));
  const ref = /\[ref=(\w+)\]/.exec(line ?? "")?.[1];
  if (ref === undefined) throw new Error(`There is no ${element} in:\n${content}`);
  return ref;
}

type Route = string | ((req: IncomingMessage, res: ServerResponse) => void);

export interface TestSite {
  origin: string;
  port: number;
  hits: string[];
}

/** A site on loopback. A text is an HTML page. */
export async function serve(routes: Record<string, Route>): Promise<TestSite> {
  const hits: string[] = [];
  const server = createServer((req, res) => {
    hits.push(req.url!);
    const route = routes[new URL(req.url!, "http://x").pathname];
    if (route === undefined) return void res.writeHead(404).end();
    if (typeof route === "function") return route(req, res);
    return void res.writeHead(200, { "content-type": "text/html" }).end(route);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { origin: `http://127.0.0.1:${port}`, port, hits };
}
