import { checkId } from "../../storage/check-id.ts";
import type { Storage } from "../../storage/storage.ts";
import { ACTORS, type ActorRow } from "../../storage/thread-tables.ts";

const KEY = Symbol.for("selvedge.queue-watch");
const AT_ONCE = 500;

interface Watched {
  listeners: Set<() => void>;
  /** The state of the thread at the last check; nothing before the first. */
  mark: string;
  hasMail: boolean;
}

/**
 * Calls back when a thread's queue may have changed: a message was queued, edited, removed or taken. Changes of this
 * process are reported at once; when another process wrote, one check of the threads that it names finds its changes. Nothing
 * is written.
 */
export function watchQueue(storage: Storage, threadId: string, onChange: () => void): () => void {
  return QueueWatch.of(storage).watch(checkId("threadId", threadId), onChange);
}

/** The watched threads of a store. */
export class QueueWatch {
  readonly #storage: Storage;
  readonly #threads = new Map<string, Watched>();
  /** The threads of the next check. */
  readonly #due = new Set<string>();
  #looking = false;
  #stop: (() => void) | undefined;

  private constructor(storage: Storage) {
    this.#storage = storage;
  }

  static of(storage: Storage): QueueWatch {
    return storage.attach(KEY, () => new QueueWatch(storage));
  }

  /** This process changed a thread's queue. */
  changed(threadId: string): void {
    const watched = this.#threads.get(threadId);
    if (watched) tell(watched);
  }

  watch(threadId: string, onChange: () => void): () => void {
    // A separate listener for every call, so that the same function may be passed twice.
    const listener = () => onChange();
    const watched = this.#threads.get(threadId) ?? { listeners: new Set(), mark: "", hasMail: false };
    this.#threads.set(threadId, watched);
    watched.listeners.add(listener);
    this.#stop ??= this.#storage.watch((change) => {
      this.#look(change === "unknown" ? this.#threads.keys() : change.keys);
    });
    return () => {
      if (!watched.listeners.delete(listener) || watched.listeners.size > 0) return;
      this.#threads.delete(threadId);
      if (this.#threads.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  /**
   * Called periodically, in case a notice was lost. Reports every mailbox that has something in it: a message that was
   * queued while another of its size was taken leaves the same mark.
   */
  look(): void {
    for (const watched of this.#threads.values()) if (watched.hasMail) watched.mark = "";
    this.#look(this.#threads.keys());
  }

  /** Checks the watched ones of these threads. One check at a time: later changes are seen by the next. */
  #look(threadIds: Iterable<string>): void {
    for (const threadId of threadIds) if (this.#threads.has(threadId)) this.#due.add(threadId);
    if (this.#looking || this.#due.size === 0) return;
    const ids = [...this.#due];
    this.#due.clear();
    this.#looking = true;
    this.#lookAt(ids)
      // A store that does not respond changes again when it does.
      .catch(() => {})
      .finally(() => {
        this.#looking = false;
        this.#look([]);
      });
  }

  async #lookAt(ids: readonly string[]): Promise<void> {
    for (let first = 0; first < ids.length; first += AT_ONCE) {
      const some = ids.slice(first, first + AT_ONCE);
      for (const row of await this.#storage.select({ table: ACTORS, where: { thread_id: { in: some } } }))
        this.#compare(row);
    }
  }

  #compare(row: ActorRow): void {
    const watched = this.#threads.get(row.thread_id);
    if (!watched) return;
    const mark = markOf(row);
    if (watched.mark === mark) return;
    watched.mark = mark;
    watched.hasMail = row.mailbox_count !== 0;
    tell(watched);
  }
}

/**
 * Differs after every change of the queue: everything that edits, removes or takes a queued message raises the fence. A
 * queue that is empty at two checks may have had a message in between, which a listener may have read.
 */
function markOf({ mailbox_count, mailbox_bytes, fence, run_id }: ActorRow): string {
  return JSON.stringify([mailbox_count, mailbox_bytes, fence, run_id]);
}

function tell({ listeners }: Watched): void {
  for (const listener of listeners) listener();
}
