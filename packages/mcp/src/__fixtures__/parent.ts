import { silentLogger } from "@selvedge/core";
import { MCPClient } from "../index.ts";

// A process with an MCP client whose server has started a process of its own. Prints the pids of both, then does what
// its second argument says: waits for a signal, throws, or just ends.

const [program, end] = process.argv.slice(2);
const mcp = new MCPClient({
  logger: silentLogger,
  servers: { a: { command: process.execPath, args: JSON.parse(program!), stderr: "ignore" } },
});
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
