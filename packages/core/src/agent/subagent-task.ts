import type { MessagePart } from "@selvedge/protocol";
import { assemble } from "../storage/list-messages.ts";
import type { Storage } from "../storage/storage.ts";
import { MESSAGES } from "../storage/tables.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { readThreadOverview } from "../thread/inspect/thread-overview.ts";

/** The outcome of a subagent's task. */
export interface SubagentTask {
  /** Of the run that works on it. It is not kept for long after its end. */
  runId: string | undefined;
  isOver: boolean;
  error: string | undefined;
  /** The number before the run's first chunk, and that of the last chunk on its thread. */
  after: number;
  lastSeq: number;
  /** The whole conversation about it, as far as it is stored. */
  answer(): Promise<MessagePart[]>;
}

const MAX_MESSAGES = 200;

/** Finds a task by the id of its message. Returns nothing if no one has started it. */
export async function findTask(
  storage: Storage,
  threadId: string,
  messageId: string,
): Promise<SubagentTask | undefined> {
  const here = { thread_id: threadId };
  const [[message], [run]] = await storage.selectAll([
    { table: MESSAGES, where: { ...here, id: messageId }, limit: 1 },
    { table: RUNS, where: { ...here, first_message_id: messageId }, limit: 1 },
  ]);
  if (!message) return undefined;
  const overview = await readThreadOverview(storage, threadId);
  return {
    runId: run?.id,
    isOver: run === undefined || overview?.activeRunId !== run.id,
    error: (Object(run?.error) as { message?: string }).message,
    after: overview?.activeRunAfter ?? 0,
    lastSeq: overview?.lastSeq ?? 0,
    answer: async () => {
      const where = { ...here, seq: { gt: message.seq } };
      const orderBy = [{ column: "seq" as const }];
      const rows = await storage.select({ table: MESSAGES, where, orderBy, limit: MAX_MESSAGES });
      const next = rows.findIndex(({ role }) => role === "user");
      const messages = await assemble(storage, next < 0 ? rows : rows.slice(0, next));
      return messages.flatMap(({ role, content }) => (role === "assistant" ? content.parts : []));
    },
  };
}
