import { AgentError, showValue } from "../errors.ts";
import { checkId } from "../storage/check-id.ts";
import { RUNS } from "../storage/thread-tables.ts";
import { readActor } from "../thread/hold/actor.ts";
import { type AgentThreadSubscription, ThreadReader } from "../thread/log/subscription.ts";
import type { LocalThreads } from "../thread/hold/local-threads.ts";
import type { ThreadsHost } from "./threads-host.ts";

/** Those who follow threads of an agent, and may abort what they see. */
export class ThreadSubscriptions {
  readonly #host: ThreadsHost;

  constructor(host: ThreadsHost) {
    this.#host = host;
  }

  async subscribe(options: {
    resourceId?: string;
    threadId: string;
    after?: number;
  }): Promise<AgentThreadSubscription> {
    const threadId = checkId("threadId", options?.threadId);
    if (options.resourceId !== undefined) checkId("resourceId", options.resourceId);
    if (options.after !== undefined && (!Number.isInteger(options.after) || options.after < 0)) {
      throw new AgentError(
        "invalid-argument",
        `after must be the number of a chunk, got ${showValue(options.after)}.`,
      );
    }
    const runtime = await this.#host.runtime();
    const resourceId = options.resourceId ?? (await runtime.ownerOf(threadId));
    const actor = await readActor(runtime.storage, threadId);
    if (actor && resourceId !== undefined && actor.resourceId !== resourceId) {
      throw new AgentError(
        "not-found",
        `There is no thread "${threadId}" for resource "${options.resourceId}".`,
      );
    }
    const after = options.after ?? (await this.#startingPoint(runtime, actor));
    // From here on nothing is awaited: a thread that nobody uses may be forgotten at any await.
    const owner = resourceId ?? actor?.resourceId;
    const thread = owner === undefined ? runtime.unclaimed(threadId) : runtime.thread(threadId, owner);
    thread.sawActive(actor?.runId);
    const reader = new ThreadReader(thread, after, options.resourceId);
    return {
      stream: reader,
      read: (limit) => reader.read(limit),
      get after() {
        return reader.after;
      },
      activeRunId: () => reader.thread.activeRun?.runId ?? null,
      abort: () => reader.thread.abort(),
      unsubscribe: () => reader.leave(),
    };
  }

  /** Where a reader without a number begins: at the start of the active run, or at the end of everything. */
  async #startingPoint(runtime: LocalThreads, actor: Awaited<ReturnType<typeof readActor>>): Promise<number> {
    if (!actor) return 0;
    if (actor.runId !== undefined) {
      const [row] = await runtime.storage.select({ table: RUNS, where: { id: actor.runId }, limit: 1 });
      if (row) return row.first_seq - 1;
    }
    return actor.nextSeq - 1;
  }
}
