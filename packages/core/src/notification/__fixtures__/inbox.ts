import type { NotificationRecord } from "@selvedge/protocol";
import { type ScriptedReply, scriptedModel, virtualSystem, type VirtualSystem } from "@selvedge/testing";
import { bareMemory } from "../../agent/__fixtures__/agent-with.ts";
import { Agent } from "../../agent/agent.ts";
import type { AgentConfig } from "../../agent/agent-config.ts";
import { silentLogger } from "../../logger.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import type { NotificationDomain } from "../../storage/notification-domain.ts";
import type { Storage } from "../../storage/storage.ts";
import { MESSAGES } from "../../storage/tables.ts";
import { ACTORS, MAILBOX } from "../../storage/thread-tables.ts";
import type { NotificationSignalInput } from "../notification-input.ts";

export const TARGET = { resourceId: "user_123", threadId: "thread_456" };

export const CI: NotificationSignalInput = {
  source: "github",
  kind: "ci-status",
  priority: "high",
  summary: "CI failed on main: 3 tests failed.",
};

/** An agent with an inbox, on a stopped clock. `hold` stops its model on the next call. */
export function inbox(
  config: Partial<AgentConfig> = {},
  options: { storage?: Storage; replies?: ScriptedReply[] } = {},
) {
  const system: VirtualSystem = (config.system as VirtualSystem | undefined) ?? virtualSystem();
  const storage = options.storage ?? new InMemoryStorage({ system });
  let gate: { reached: () => void; opened: Promise<void> } | undefined;
  const model = scriptedModel(async ({ index }) => {
    const closed = gate;
    gate = undefined;
    closed?.reached();
    await closed?.opened;
    return options.replies?.[index] ?? `Answer ${index + 1}.`;
  });
  const agent = new Agent({
    id: "support",
    name: "Support",
    instructions: "Triage.",
    model,
    memory: bareMemory(storage),
    logger: silentLogger,
    system,
    // A held model does not count as hanging.
    defaultOptions: { limits: { firstChunkMs: 0, totalMs: 0 } },
    ...config,
  });
  const domain = async (): Promise<NotificationDomain> => (await storage.getStore("notifications"))!;
  const list = async (): Promise<NotificationRecord[]> =>
    (await (await domain()).listNotifications({ threadId: TARGET.threadId })).reverse();
  /** Wakes the thread and resolves when its model is called; `go` lets the model answer. */
  const hold = async () => {
    const reached = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    gate = { reached: reached.resolve, opened: opened.promise };
    await agent.sendMessage("Begin.", TARGET).admitted;
    await reached.promise;
    return async () => {
      opened.resolve();
      await idle();
    };
  };
  const idle = async (): Promise<void> => {
    for (let turn = 0; turn < 500; turn++) {
      await system.advance(10);
      await system.settle();
      const [actor] = await storage.select({ table: ACTORS, where: { thread_id: TARGET.threadId } });
      const items = await storage.count({ table: MAILBOX });
      if (items === 0 && (actor === undefined || actor["run_state"] === "idle")) return;
    }
    throw new Error("The thread did not become idle.");
  };
  return { agent, model, storage, system, domain, list, hold, idle };
}

/** The signals the thread received, in order. */
export async function told(storage: Storage): Promise<string[]> {
  const rows = await storage.select({
    table: MESSAGES,
    where: { role: "signal", type: { in: ["notification", "notification-summary"] } },
    orderBy: [{ column: "seq" }],
  });
  return rows.map((row) => {
    const { parts } = row["content"] as unknown as { parts: { text: string }[] };
    return `${row["type"] as string} ${parts.map(({ text }) => text).join("")}`;
  });
}
