import type { AgentChunk } from "@selvedge/protocol";
import type { Agent } from "../agent/agent.ts";
import { AgentError } from "../errors.ts";
import type { Storage } from "../storage/storage.ts";
import { readThreadOverview, type ThreadOverview } from "../thread/inspect/thread-overview.ts";
import type { AgentThreadSubscription } from "../thread/threads.ts";

const AT_ONCE = 256;

export interface FollowOptions {
  agent: Agent;
  storage: Storage;
  threadId: string;
  resourceId: string;
  /** `isPast` for chunks from before the reader started. */
  take(chunk: AgentChunk, isPast: boolean): void;
  failed(error: unknown): void;
}

/** Reads the stream of a thread from the beginning of its active run, until it is closed. */
export class ThreadFollower {
  readonly #options: FollowOptions;
  /** The last event that existed when it started. */
  readonly lastSeq: number;
  #subscription: AgentThreadSubscription | undefined;
  #stopped = false;

  private constructor(options: FollowOptions, lastSeq: number) {
    this.#options = options;
    this.lastSeq = lastSeq;
  }

  /** Resolves when all existing events have been read. */
  static async open(options: FollowOptions): Promise<ThreadFollower> {
    const { storage, threadId } = options;
    const overview = await readThreadOverview(storage, threadId);
    const follower = new ThreadFollower(options, overview?.lastSeq ?? 0);
    try {
      await follower.#begin(overview?.activeRunAfter ?? 0, follower.lastSeq);
    } catch (error) {
      if (!AgentError.is(error, "reader-too-slow") || !overview) throw error;
      // The run has waited longer than the store keeps events. The waiting calls are still known.
      for (const chunk of waitingChunks(overview)) options.take(chunk, true);
      await follower.#begin(overview.lastSeq, overview.lastSeq);
    }
    void follower.#follow();
    return follower;
  }

  get after(): number {
    return this.#subscription?.after ?? this.lastSeq;
  }

  get activeRunId(): string | null {
    return this.#subscription?.activeRunId() ?? null;
  }

  abort(): boolean {
    return this.#subscription?.abort() ?? false;
  }

  stop(): void {
    this.#stopped = true;
    this.#subscription?.unsubscribe();
  }

  async #begin(after: number, until: number): Promise<void> {
    const { agent, threadId, resourceId, take } = this.#options;
    this.#subscription = await agent.subscribeToThread({ threadId, resourceId, after });
    while (this.#subscription.after < until && !this.#stopped) {
      const chunks = await this.#subscription.read(AT_ONCE);
      if (chunks.length === 0) return;
      for (const chunk of chunks) take(chunk, chunk.seq <= until);
    }
  }

  async #follow(): Promise<void> {
    try {
      while (!this.#stopped) {
        const chunks = await this.#subscription!.read(AT_ONCE);
        if (chunks.length === 0) return;
        for (const chunk of chunks) if (!this.#stopped) this.#options.take(chunk, false);
      }
    } catch (error) {
      if (!this.#stopped) this.#options.failed(error);
    }
  }
}

/** The waiting calls of a run, as chunks of its stream. */
export function waitingChunks({ activeRunId, waiting }: ThreadOverview): AgentChunk[] {
  if (activeRunId === undefined) return [];
  const about = { runId: activeRunId, from: "AGENT" } as const;
  const questions = waiting.map(({ toolCallId, toolName, requiresApproval, reason, ...call }): AgentChunk => {
    const { args, suspendPayload } = { ...call, ...call.transcript };
    const payload = { toolCallId, toolName, args, resumeSchema: "{}" };
    return requiresApproval
      ? {
          ...about,
          type: "tool-call-approval",
          payload: { ...payload, ...(reason !== undefined && { reason }) },
        }
      : { ...about, type: "tool-call-suspended", payload: { ...payload, suspendPayload } };
  });
  const usage = { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined };
  const messages = { all: [], user: [], nonUser: [] };
  const payload = { stepResult: { reason: "suspended" as const }, output: { usage }, metadata: {}, messages };
  return [...questions, { ...about, type: "finish", payload }];
}
