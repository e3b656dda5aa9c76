import { appendFileSync } from "node:fs";
import { AgentError } from "@selvedge/core/errors";
import { createNotificationInboxTool } from "@selvedge/core/notifications";
import { openApp } from "./app.ts";
import { type Answer, type ChildConfig, type Command, RESOURCE } from "./protocol.ts";

/** A process with the app in it, told what to do by its parent. */
const config = JSON.parse(process.argv[2]!) as ChildConfig;
const { agent, mastra, storage } = await openApp(config);

process.on("message", (command: Command) => void answer(command));
process.on("disconnect", () => process.exit());
await mastra.start();
say({ ready: true });

async function answer(command: Command): Promise<void> {
  const { id } = command;
  if (command.do === "stop") return void process.kill(process.pid, "SIGSTOP");
  if (command.do === "close") {
    await mastra.close();
    process.exit();
  }
  try {
    if (command.do === "decide") {
      const { threadId, toolCallId, approved } = command;
      await agent.sendToolApproval({ threadId, resourceId: RESOURCE, toolCallId, approved });
      return say({ id, ok: true });
    }
    if (command.do === "notify" || command.do === "read") return say({ id, ...(await useInbox(command)) });
    const target = {
      threadId: command.threadId,
      resourceId: RESOURCE,
      ...(command.key !== undefined && { idempotencyKey: command.key }),
    };
    const sent =
      command.api === "queue"
        ? agent.queueMessage(command.text, target)
        : agent.sendMessage(command.text, target);
    const { action, duplicate } = await sent.admitted;
    if (config.marks !== undefined) appendFileSync(config.marks, `${command.text.split(" ")[0]}\n`);
    say({ id, ok: true, action, ...(duplicate && { duplicate }) });
  } catch (error) {
    say({ id, ok: false, code: AgentError.is(error) ? error.code : "internal", message: String(error) });
  }
}

async function useInbox(
  command: Command & { do: "notify" | "read" },
): Promise<{ ok: true; records?: string[] }> {
  const thread = { threadId: command.threadId, resourceId: RESOURCE };
  if (command.do === "notify") {
    const results = await agent.sendNotificationSignal(command.notifications, thread);
    return { ok: true, records: results.map(({ record }) => record.id) };
  }
  const tool = createNotificationInboxTool({ storage: await storage.getStore("notifications") });
  await tool.execute({ context: { action: "read" }, ...thread });
  return { ok: true };
}

function say(message: Answer): void {
  process.send?.(message);
}
