import type { Change } from "../../storage/storage.ts";
import type { ThreadAddress } from "../threads.ts";
import { keyOf } from "./key-of.ts";
import type { Thread } from "./thread.ts";

/** The threads of which this process keeps state. */
export class ThreadDirectory {
  readonly #make: (threadId: string, resourceId: string) => Thread;
  readonly #threads = new Map<string, Thread>();
  /** The same by id alone, as change notices name them. */
  readonly #byId = new Map<string, Set<Thread>>();
  /** Threads whose owner was unknown when they were requested. */
  readonly #unclaimed = new Map<string, Thread>();
  /** What those turned into. */
  readonly #claimed = new WeakMap<Thread, Thread>();

  constructor(make: (threadId: string, resourceId: string) => Thread) {
    this.#make = make;
  }

  get size(): number {
    return this.#threads.size;
  }

  all(): Iterable<Thread> {
    return this.#threads.values();
  }

  byId(threadId: string): Iterable<Thread> {
    return this.#byId.get(threadId) ?? [];
  }

  concernedBy(change: Change): Thread[] {
    if (change === "unknown") return [...this.#threads.values()];
    return [...change.keys].flatMap((threadId) => [...this.byId(threadId)]);
  }

  get({ threadId, resourceId }: ThreadAddress): Thread {
    const known = this.#threads.get(keyOf({ threadId, resourceId }));
    return known ?? this.#add(this.#make(threadId, resourceId));
  }

  /** A thread that is not remembered unless it is used. */
  peek({ threadId, resourceId }: ThreadAddress): Thread {
    return this.#threads.get(keyOf({ threadId, resourceId })) ?? this.#make(threadId, resourceId);
  }

  has(thread: Thread): boolean {
    return this.#threads.get(keyOf(thread)) === thread;
  }

  /** The owner of the thread is not known yet. Its readers move on when it is. */
  leaveUnclaimed(thread: Thread): Thread {
    this.#unclaimed.set(thread.threadId, thread);
    return thread;
  }

  /** The store knows the owner of a thread. Readers that did not know it move on. */
  claim({ threadId }: Thread, resourceId: string): void {
    const waiting = this.#unclaimed.get(threadId);
    if (!waiting) return;
    this.#unclaimed.delete(threadId);
    if (waiting.resourceId === resourceId) return;
    const owned = this.get({ threadId, resourceId });
    this.#claimed.set(waiting, owned);
    waiting.tail.wake();
    owned.wake();
  }

  /** The thread that receives the news of this one. */
  currentOf(thread: Thread): Thread {
    const owned = this.#claimed.get(thread);
    return owned ? (this.#threads.get(keyOf(owned)) ?? this.#add(owned)) : thread;
  }

  forget(thread: Thread): void {
    if (this.has(thread)) {
      this.#threads.delete(keyOf(thread));
      const known = this.#byId.get(thread.threadId);
      known?.delete(thread);
      if (known?.size === 0) this.#byId.delete(thread.threadId);
    }
    if (this.#unclaimed.get(thread.threadId) === thread) this.#unclaimed.delete(thread.threadId);
  }

  #add(thread: Thread): Thread {
    this.#threads.set(keyOf(thread), thread);
    const known = this.#byId.get(thread.threadId);
    if (known) known.add(thread);
    else this.#byId.set(thread.threadId, new Set([thread]));
    return thread;
  }
}
