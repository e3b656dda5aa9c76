import { AgentError, errorMessage } from "../../errors.ts";
import type { RunEnd } from "../../run/run-journal.ts";
import type { CreatedAgentSignal } from "../../signal/signal.ts";
import { describeThread, insertMessage, insertThread } from "../../storage/message-writes.ts";
import type { Row, Write } from "../../storage/storage.ts";
import { MESSAGES, MESSAGE_STEPS, THREADS } from "../../storage/tables.ts";
import { RUNS } from "../../storage/thread-tables.ts";
import { remove } from "../../storage/writes.ts";
import { type MailboxItem, takeItems } from "../admit/mailbox.ts";
import type { Thread } from "../hold/thread.ts";
import type { ThreadDetails } from "./thread-journal.ts";

/** The actor of an idle thread. */
export const IDLE = {
  owner: null,
  run_id: null,
  run_state: "idle",
  agent_id: null,
  abort_run: null,
} as const;

/** The row of a finished run. */
export function endedRun({ state, error }: RunEnd, now: Date): Row {
  const told =
    error === undefined
      ? null
      : { code: AgentError.is(error) ? error.code : "internal", message: errorMessage(error) };
  return { state, ended_at: now.getTime(), error: told, open_step: null };
}

/** A run that ends before it began was still opened by a message whose sender was told that it is stored. */
export function openerWrites(thread: Thread, item: MailboxItem, details: ThreadDetails): Write[] {
  const { threadId, resourceId } = thread;
  const { createdAt } = item.signal;
  return [
    ...takeItems(threadId, [item]),
    insertThread({ id: threadId, resourceId, createdAt, updatedAt: createdAt }),
    ...describeThread(threadId, details),
    ...(item.messages?.map((message) =>
      insertMessage({ ...message, createdAt, threadId, resourceId }, "ignore"),
    ) ?? [insertSignal(thread, item.signal)]),
  ];
}

/** Ids are checked when a signal is sent. One that was used since must not block the thread. */
export function insertSignal({ threadId, resourceId }: Thread, signal: CreatedAgentSignal): Write {
  return insertMessage(signal.toDBMessage({ threadId, resourceId }), "ignore");
}

/** For threads that keep nothing. */
export function forgetHistory(threadId: string): Write[] {
  const here = { thread_id: threadId };
  return [
    remove(MESSAGES, here),
    remove(MESSAGE_STEPS, here),
    remove(RUNS, here),
    remove(THREADS, { id: threadId }),
  ];
}
