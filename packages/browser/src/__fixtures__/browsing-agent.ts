import { join } from "node:path";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { AgentBrowser } from "../index.ts";

export const thread = { resourceId: "r", threadId: "t" };

/** An agent that opens a page, looks at it and clicks. Each process that continues the thread makes its own. */
export function browsingAgent(folder: string, origin: string) {
  const storage = new LibSQLStore({ url: `file:${join(folder, "threads.db")}` });
  const browser = new AgentBrowser({
    allowedOrigins: [origin],
    chromiumSandbox: process.getuid?.() !== 0,
    ...(process.env["SELVEDGE_CHROMIUM"] && { executablePath: process.env["SELVEDGE_CHROMIUM"] }),
  });
  const model = scriptedModel(({ prompt }) => {
    const steps = prompt.filter(({ role }) => role === "tool").length;
    const [toolName, input] = [
      ["browser_goto", { url: origin }] as const,
      ["browser_snapshot", {}] as const,
      ["browser_click", { ref: "e2" }] as const,
    ][steps] ?? ["", {}];
    return toolName === "" ? "Done." : { toolCalls: [{ toolName, input }] };
  });
  const agent = new Agent({
    name: "surfer",
    instructions: "Click.",
    model,
    memory: new Memory({ storage }),
    browser,
    defaultOptions: { maxSteps: 10 },
  });
  return { mastra: new Mastra({ agents: { agent }, storage }), agent, browser, model, storage };
}
