import { silentLogger } from "@selvedge/core";
import { MCPClient } from "../index.ts";

// A process with an MCP client whose server has started another process. Prints both pids, then follows its second
// argument: wait for a signal, throw, end, or never get past connecting.

const [program, end] = process.argv.slice(2);
const mcp = new MCPClient({
  logger: silentLogger,
  servers: { a: { command: process.execPath, args: JSON.parse(program!), stderr: "ignore" } },
});
if (end === "connecting") {
  // A server that never responds: it only prints its name to stderr.
  const silent = "console.error(process.pid); setInterval(() => {}, 1000); process.on('SIGTERM', () => {})";
  const mute = new MCPClient({
    logger: silentLogger,
    servers: { a: { command: process.execPath, args: ["-e", silent], stderr: 1 } },
  });
  await mute.getTools();
}
const tools = await mcp.getTools();
const grandchild = (await tools["a_grandchild"]!.execute({})) as { content: [{ text: string }] };
const child = (await tools["a_pid"]!.execute({})) as { content: [{ text: string }] };
console.log(JSON.stringify([child.content[0].text, grandchild.content[0].text].map(Number)));
if (end === "handled") process.on("SIGTERM", () => setTimeout(() => process.exit(7), 50));
if (end === "throws")
  setTimeout(() => {
    throw new Error("A bug.");
  });
if (end === "exit") process.exit(3);
