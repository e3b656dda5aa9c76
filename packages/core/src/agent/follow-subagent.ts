import { type SubagentWait, subagentWaitOf } from "@selvedge/protocol/session";
import { safeWaitingCall } from "../guard/safe-output.ts";
import type { Storage } from "../storage/storage.ts";
import { readThreadOverview } from "../thread/inspect/thread-overview.ts";
import type { WaitingCall } from "../thread/inspect/waiting-calls.ts";
import type { AgentThreadSubscription, NumberedChunk } from "../thread/threads.ts";

/** The run of a subagent: an agent, and the thread it works on. */
export interface SubagentThread {
  agent: {
    expect(target: { threadId: string; resourceId: string }): Promise<() => void>;
    subscribeToThread(options: {
      threadId: string;
      resourceId: string;
      after: number;
    }): Promise<AgentThreadSubscription>;
  };
  storage: Storage;
  threadId: string;
  resourceId: string;
  abortSignal: AbortSignal;
}

/**
 * Follows a subagent until `take` returns true for a chunk, or until the subagent waits for a person. In the second case,
 * returns what it waits for. Aborting the reader aborts the subagent.
 */
export async function followSubagent(
  { agent, storage, threadId, resourceId, abortSignal }: SubagentThread,
  after: number,
  take: (chunk: NumberedChunk) => boolean,
): Promise<SubagentWait["subagent"] | undefined> {
  const reader = await agent.subscribeToThread({ threadId, resourceId, after });
  // It may have been left by a process that is gone, and it must not wait in line behind the one that waits for it.
  const wait = await agent.expect({ threadId, resourceId });
  const stop = () => {
    reader.abort();
    reader.unsubscribe();
  };
  abortSignal.addEventListener("abort", stop, { once: true });
  try {
    if (abortSignal.aborted) stop();
    for await (const chunk of reader.stream) {
      if (take(chunk)) return undefined;
      if (chunk.type !== "finish" || chunk.payload.stepResult.reason !== "suspended") continue;
      const now = await readThreadOverview(storage, threadId);
      // It may have been answered since.
      if (now?.runState !== "suspended" || now.waiting.length === 0 || now.lastSeq > chunk.seq) continue;
      return {
        threadId,
        resourceId,
        runId: chunk.runId,
        after: chunk.seq,
        calls: now.waiting.map(forPeople),
      };
    }
    return undefined;
  } finally {
    wait();
    abortSignal.removeEventListener("abort", stop);
    reader.unsubscribe();
  }
}

/** What the parent's readers may see of a call. Questions of a subagent's own subagent were made so before. */
function forPeople(call: WaitingCall): WaitingCall {
  return subagentWaitOf(call) ? call : safeWaitingCall(call);
}
