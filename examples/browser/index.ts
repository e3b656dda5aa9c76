import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { AgentBrowser } from "@selvedge/browser";
import { Agent } from "@selvedge/core/agent";
import { scriptedModel } from "@selvedge/testing";

// A shop on this machine.
const shop = createServer((req, res) => {
  const sold = req.url === "/buy";
  res
    .setHeader("content-type", "text/html")
    .end(
      sold ? "<title>Thank you</title>" : "<title>Shop</title><h1>Looms</h1><a href='/buy'>Buy a loom</a>",
    );
});
await new Promise<void>((resolve) => shop.listen(0, "127.0.0.1", resolve));
const { port } = shop.address() as AddressInfo;

const browser = new AgentBrowser({
  // The browser reaches only this origin. Without the option, it reaches the internet, but no private address.
  allowedOrigins: [`http://127.0.0.1:${port}`],
  // Chromium's own sandbox does not work as root.
  chromiumSandbox: process.getuid?.() !== 0,
});
const agent = new Agent({
  name: "shopper",
  instructions: "Buy what the user asks for.",
  browser,
  model: scriptedModel([
    { toolCalls: [{ toolName: "browser_goto", input: { url: `http://127.0.0.1:${port}/` } }] },
    { toolCalls: [{ toolName: "browser_snapshot", input: {} }] },
    { toolCalls: [{ toolName: "browser_click", input: { ref: "e3" } }] },
    { toolCalls: [{ toolName: "browser_goto", input: { url: "http://127.0.0.1:8080/admin" } }] },
    "I bought a loom.",
  ]),
});

const { text, steps } = await agent.generate("Buy a loom.", { maxSteps: 10 });
const [opened, seen, clicked, refused] = steps.map(
  ({ toolResults }) => toolResults[0]?.payload.result as Record<string, unknown>,
);
console.log(text);

assert.equal(opened!["title"], "Shop");
assert.match(String(seen!["content"]), /<page-content origin="http:\/\/127\.0\.0\.1:\d+">/);
assert.match(String(seen!["content"]), /link "Buy a loom" \[ref=e3\]/);
assert.equal(clicked!["title"], "Thank you");
assert.equal(refused!["code"], "address-refused");
await browser.close();
shop.close();
