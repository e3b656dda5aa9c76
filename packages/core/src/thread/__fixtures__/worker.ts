import { appendFileSync } from "node:fs";
import { LibSQLStore } from "@selvedge/libsql";
import { HERE, onThread } from "../../agent/__fixtures__/on-thread.ts";
import { createTool } from "../../tool/tool.ts";

/**
 * A process of its own on a store that others share.
 *
 *     work <file> <log>                      three steps; the last hangs in two tools
 *     wait <file> <log>                      suspends for an approval, then says so
 *     answer <file> <log> <true|false>       answers call `d1` once a line comes in, and says how it went
 */
const [what, file, log, approved] = process.argv.slice(2) as [string, string, string, string?];
const note = (line: string) => appendFileSync(log, `${line}\n`);
const storage = new LibSQLStore({ url: `file:${file}` });

function tool(id: string, more: object, hangs: boolean) {
  return createTool({
    id,
    description: id,
    execute: async (_, { idempotencyKey }) => {
      note(`${id} ${idempotencyKey}`);
      if (!hangs) return `${id} done`;
      console.log("at work");
      return new Promise(() => {});
    },
    ...more,
  });
}

const call = (toolName: string, toolCallId: string) => ({ toolName, toolCallId, input: {} });
const { agent, follow } = onThread(
  ({ index }) => {
    note(`model ${index}`);
    if (what === "wait" && index === 0) return { toolCalls: [call("danger", "d1")] };
    if (what !== "work") return "answered";
    return { toolCalls: index === 0 ? [call("quick", "q")] : [call("once", "o"), call("again", "a")] };
  },
  {
    storage,
    tools: {
      quick: tool("quick", {}, false),
      once: tool("once", {}, true),
      again: tool("again", { idempotent: true }, true),
      danger: tool("danger", { requireApproval: true }, false),
    },
  },
);

if (what === "answer") {
  await storage.init();
  console.log("ready");
  await new Promise((resolve) => process.stdin.once("data", resolve));
  const outcome = await agent
    .sendToolApproval({ ...HERE, toolCallId: "d1", approved: approved === "true" })
    .then(
      () => "accepted",
      (error: { code?: string }) => error.code,
    );
  console.log(outcome);
  process.stdin.unref();
} else {
  const reader = await follow();
  await agent.sendMessage("go", HERE).admitted;
  await agent.queueMessage("queued", HERE).admitted;
  if (what === "wait") {
    await reader.until("finish");
    console.log("waiting");
  }
  // Until it is killed.
  setInterval(() => {}, 1000);
}
