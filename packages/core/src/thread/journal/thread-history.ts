import type { StoredMessage } from "@selvedge/protocol";
import { RECENT, type RunHistory } from "../../run/run-journal.ts";
import { advanceLane, type Lane, readLane, type StateMode } from "../../signal/lane.ts";
import { assemble } from "../../storage/list-messages.ts";
import type { Write } from "../../storage/storage.ts";
import { MESSAGES } from "../../storage/tables.ts";
import type { Thread } from "../hold/thread.ts";

/** How many signals after a snapshot are searched for its deltas. */
const SIGNALS_BACK = 200;

/** What a run looks up about its thread. */
export class ThreadHistory implements RunHistory {
  readonly #thread: Thread;

  constructor(thread: Thread) {
    this.#thread = thread;
  }

  lane(laneId: string): Promise<Lane | undefined> {
    return readLane(this.#thread.storage, this.#thread.threadId, laneId);
  }

  advanceLane(
    laneId: string,
    seen: Lane | undefined,
    next: { cacheKey: string; mode: StateMode; signalId: string },
  ): Write {
    return advanceLane(this.#thread.threadId, laneId, seen, { ...next, now: this.#thread.system.now() });
  }

  async signalsSince(signalId: string): Promise<StoredMessage[]> {
    const { storage, threadId } = this.#thread;
    const [first] = await storage.select({
      table: MESSAGES,
      where: { id: signalId, thread_id: threadId },
      limit: 1,
    });
    if (!first) return [];
    const where = { thread_id: threadId, seq: { gte: first.seq }, role: "signal" };
    return assemble(
      storage,
      await storage.select({ table: MESSAGES, where, orderBy: [{ column: "seq" }], limit: SIGNALS_BACK }),
    );
  }

  async recent(): Promise<StoredMessage[]> {
    const { threadId, resourceId, storage } = this.#thread;
    const memory = await storage.getStore("memory");
    const messages = (await memory?.recentMessages({ threadId, limit: RECENT })) ?? [];
    return messages.filter((message) => message.resourceId === resourceId);
  }
}
