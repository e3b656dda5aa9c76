import { reviveSignal, type CreatedAgentSignal } from "../../signal/signal.ts";
import type { Write } from "../../storage/storage.ts";
import { SENDS } from "../../storage/thread-tables.ts";
import type { AdmittedSignal } from "./admission.ts";
import type { Delivery } from "./delivery.ts";
import type { Thread } from "../hold/thread.ts";
import { insert } from "../../storage/writes.ts";

export function insertSend(
  thread: Thread,
  key: string,
  signal: CreatedAgentSignal,
  runId: string,
  action: string,
): Write {
  return insert(SENDS, {
    thread_id: thread.threadId,
    key,
    signal: signal.toJSON() as never,
    run_id: runId,
    action,
    created_at: Math.trunc(thread.system.now()),
  });
}

/** The result of the first send with a key. */
export async function readSend(thread: Thread, key: string): Promise<AdmittedSignal | undefined> {
  const [row] = await thread.storage.select({
    table: SENDS,
    where: { thread_id: thread.threadId, key },
    limit: 1,
  });
  if (!row) return undefined;
  return {
    signal: reviveSignal(row.signal as never),
    runId: row.run_id as string,
    action: row.action as Delivery["action"],
    duplicate: true,
  };
}
