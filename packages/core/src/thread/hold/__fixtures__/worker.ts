import { appendFileSync } from "node:fs";
import { LibSQLStore } from "@selvedge/libsql";
import { HERE, onThread } from "../../../agent/__fixtures__/on-thread.ts";
import { createTool } from "../../../tool/tool.ts";

/**
 * A separate process on a store that others share.
 *
 * work <file> <log>                      three steps; the last hangs in two tools
 * wait <file> <log>                      suspends for an approval, then prints that it waits
 * answer <file> <log> <true|false>       answers call `d1` after a line on stdin, and prints the outcome
 * pay <file> <log>                       one step, which hangs in a tool that may run again
 * steps <file> <log>                     one step with two calls that save their progress, and then hang
 * steps-again <file> <log>               continues these calls, and hangs in them
 * many <file> <log>                      a run on each of 40 threads, all hanging in the model
 * die-asking <file> <log>                dies whenever the model is called
 * die-preparing <file> <log>             dies whenever a run is prepared
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

const die = () => process.kill(process.pid, "SIGKILL");
const call = (toolName: string, toolCallId: string) => ({ toolName, toolCallId, input: {} });
const { agent, follow } = onThread(
  async ({ index }) => {
    note(`model ${index}`);
    if (what === "die-asking") die();
    if (what === "many") return new Promise<never>(() => {});
    if (what === "pay") return { toolCalls: [call("again", "a")] };
    if (what === "steps") return { toolCalls: [call("steps", "s1"), call("steps", "s2")] };
    if (what === "wait" && index === 0) return { toolCalls: [call("danger", "d1")] };
    if (what !== "work") return "answered";
    return { toolCalls: index === 0 ? [call("quick", "q")] : [call("once", "o"), call("again", "a")] };
  },
  {
    storage,
    ...(what === "die-preparing" && {
      instructions: () => {
        note("prepared");
        die();
        return "";
      },
    }),
    tools: {
      quick: tool("quick", {}, false),
      once: tool("once", {}, true),
      again: tool("again", { idempotent: true }, true),
      danger: tool("danger", { requireApproval: true }, false),
      steps: createTool({
        id: "steps",
        description: "steps",
        idempotent: true,
        execute: async (_, { saveProgress, progress, toolCallId }) => {
          note(`steps ${toolCallId} ${JSON.stringify(progress)}`);
          await saveProgress({ at: 1 });
          await saveProgress({ at: 2, of: toolCallId });
          console.log("at work");
          return new Promise(() => {});
        },
      }),
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
} else if (what === "many") {
  for (let index = 0; index < 40; index++)
    await agent.sendMessage("go", { threadId: `many-${index}`, resourceId: "r1" }).admitted;
  console.log("at work");
  setInterval(() => {}, 1000);
} else if (what === "steps-again") {
  await agent.recover();
  setInterval(() => {}, 1000);
} else if (what.startsWith("die")) {
  // Only the first sends; the others continue its work.
  if (approved === "send") await agent.sendMessage("go", HERE).admitted;
  await agent.recover();
  setInterval(() => {}, 1000);
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
