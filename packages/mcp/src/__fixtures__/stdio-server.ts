import { spawn } from "node:child_process";
import { appendFileSync } from "node:fs";
import { createTool } from "@selvedge/core/tools";
import { MCPServer } from "../index.ts";

// A server for tests that need a process. Its argument is a file in which it records what it does.

const [notes] = process.argv.slice(2);
const note = (line: string): void => appendFileSync(notes!, `${line}\n`);
const tool = (id: string, execute: () => unknown, mcp = {}) =>
  createTool({ id, description: `Does ${id}.`, inputSchema: { type: "object" }, mcp, execute });

note(`started ${process.pid}`);
const server = new MCPServer({
  name: "Child",
  version: "1.0.0",
  tools: {
    hello: tool("hello", () => "hello"),
    pid: tool("pid", () => String(process.pid)),
    environment: tool("environment", () => Object.keys(process.env).toSorted().join(" ")),
    grandchild: tool("grandchild", () => {
      const sleeper = spawn("sleep", ["600"], { stdio: "ignore" });
      sleeper.unref();
      return String(sleeper.pid);
    }),
    refuse: tool("refuse", () => {
      throw new Error("No such city.");
    }),
    die: tool("die", () => {
      note("dying");
      process.exit(1);
    }),
    dieOnce: tool(
      "dieOnce",
      () => {
        note("dying once");
        if (process.env["LIVES"] !== "many") process.exit(1);
      },
      { annotations: { idempotentHint: true } },
    ),
  },
});
await server.startStdio();
