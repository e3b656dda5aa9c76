import { reviveSignal, type CreatedAgentSignal } from "../../signal/signal.ts";
import type { Write } from "../../storage/storage.ts";
import { SENDS } from "../../storage/thread-tables.ts";
import type { Admitted, SendRequest } from "./admission.ts";
import type { Delivery } from "./delivery.ts";
import type { Thread } from "../hold/thread.ts";
import { insert } from "../../storage/writes.ts";

/** What was answered to the first send with a key. */
interface EarlierSend {
  signal: CreatedAgentSignal;
  runId: string;
  action: Delivery["action"];
}

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

export async function readSend(thread: Thread, key: string): Promise<EarlierSend | undefined> {
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
  };
}

/** The same send again: the caller's signal becomes the one that was accepted. */
export function adopt(request: SendRequest, earlier: EarlierSend): Admitted {
  Object.assign(request.signal, earlier.signal);
  return { action: earlier.action, runId: earlier.runId, duplicate: true };
}
