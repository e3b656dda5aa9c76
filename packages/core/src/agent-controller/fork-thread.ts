import type { MessagePart, StoredMessage } from "@selvedge/protocol";
import { AgentError } from "../errors.ts";
import type { CloneThreadOptions, CloneThreadResult } from "../storage/clone-thread.ts";
import { insertMessage } from "../storage/message-writes.ts";
import type { Storage } from "../storage/storage.ts";
import { RUNS } from "../storage/thread-tables.ts";

const IN_FORK = "This call runs in a fork of the conversation. You are that fork.";

/**
 * Copies a thread for a fork, once per call: everything that is stored of it, plus the step that made the call, with
 * its calls answered so that the conversation is complete. The parent is only read.
 */
export async function forkThread(
  host: { clone(options: CloneThreadOptions): Promise<CloneThreadResult>; storage: Storage },
  fork: { threadId: string; parentThreadId: string; resourceId: string; runId: string; toolCallId: string },
): Promise<void> {
  const { threadId, parentThreadId, resourceId, runId } = fork;
  const metadata = { forkedSubagent: true, subagent: true, parentThreadId };
  const memory = (await host.storage.getStore("memory"))!;
  if (!(await memory.getThreadById({ threadId }))) {
    try {
      await host.clone({
        sourceThreadId: parentThreadId,
        sourceResourceId: resourceId,
        resourceId,
        newThreadId: threadId,
        metadata,
      });
    } catch (error) {
      if (!AgentError.is(error, "conflict")) throw error; // Created by an earlier attempt in the meantime.
    }
  }
  const [run] = await host.storage.select({ table: RUNS, where: { id: runId }, limit: 1 });
  const open = (run?.open_step ?? undefined) as { parts: MessagePart[] } | undefined;
  if (!run || !open) return;
  const message: StoredMessage = {
    id: `fork-${threadId}`.slice(0, 250),
    role: "assistant",
    createdAt: new Date(run.started_at),
    threadId,
    resourceId,
    content: { format: 2, parts: open.parts.map(answered) },
  };
  await host.storage.commit([insertMessage(message, "ignore")]);
}

function answered(part: MessagePart): MessagePart {
  if (part.type !== "tool-invocation") return part;
  const { toolInvocation } = part as Extract<MessagePart, { type: "tool-invocation" }>;
  if (toolInvocation.state !== "call" && toolInvocation.state !== "approval-requested") return part;
  return { ...part, toolInvocation: { ...toolInvocation, state: "result", result: IN_FORK } } as MessagePart;
}
