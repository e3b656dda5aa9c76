// How long a snapshot of a page with 2,000 elements takes: ours as an agent calls it, and Playwright's own.
//   npm run bench:browser [-- rounds]
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AgentBrowser } from "@selvedge/browser";
import { chromium } from "playwright-core";
import { findChromium } from "../e2e/studio/browser.ts";

const ROUNDS = Number(process.argv[2] ?? 20);
const ROWS = 500;
const row = (n: number): string =>
  `<div><a href="/x${n}">link ${n}</a><button>b${n}</button><p>text ${n}</p></div>`;
const html = `<title>Bench</title>${Array.from({ length: ROWS }, (_, n) => row(n)).join("")}`;

const server = createServer((_req, res) => res.setHeader("content-type", "text/html").end(html));
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const executablePath = findChromium()!;
const chromiumSandbox = process.getuid?.() !== 0;

const browser = new AgentBrowser({ executablePath, chromiumSandbox, allowedOrigins: [origin] });
const call = (name: string, input: object): Promise<{ success: boolean }> =>
  (
    browser.getTools()[name] as { execute(input: object, options: object): Promise<{ success: boolean }> }
  ).execute(input, { threadId: "bench" });
const peer = await chromium.launch({ executablePath, chromiumSandbox });
const page = await peer.newPage();
await page.goto(origin);
await call("browser_goto", { url: origin });

const variants: Record<string, () => Promise<unknown>> = {
  "playwright ariaSnapshot": () => page.ariaSnapshot({ mode: "ai" }),
  "browser_snapshot, interactive": () => call("browser_snapshot", {}),
  "browser_snapshot, all": () => call("browser_snapshot", { interactiveOnly: false }),
};
const times = new Map(Object.keys(variants).map((name) => [name, [] as number[]]));
for (let round = -3; round < ROUNDS; round++)
  for (const [name, work] of Object.entries(variants)) {
    const start = performance.now();
    await work();
    if (round >= 0) times.get(name)!.push(performance.now() - start);
  }
const median = (list: number[]): number => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)]!;
const base = median([...times.values()][0]!);
for (const [name, list] of times)
  console.log(`${name.padEnd(32)} ${median(list).toFixed(1)} ms  ${(median(list) / base).toFixed(2)}x`);
await Promise.all([browser.close(), peer.close()]);
server.close();
