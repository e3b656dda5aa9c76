import type { Change, System } from "@selvedge/core/storage";
import { News } from "../news.ts";
import type { ServerConnection } from "./server-connection.ts";

/** Which keys others changed, found by asking: a libSQL server does not report changes. */
export class RemoteNews {
  readonly #connection: ServerConnection;
  readonly #system: System;
  readonly #pollMs: number;
  readonly #watchers = new Set<(change: Change) => void>();
  readonly #news = new News();
  #polling: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  #isClosed = false;

  constructor(connection: ServerConnection, system: System, pollMs: number) {
    this.#connection = connection;
    this.#system = system;
    this.#pollMs = pollMs;
  }

  watch(onChange: (change: Change) => void): () => void {
    this.#watchers.add(onChange);
    this.#polling ??= this.#poll();
    return () => this.#watchers.delete(onChange);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#watchers.clear();
    this.#cancel?.();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    if (this.#watchers.size > 0) {
      // Nothing is known of changes while the server was away.
      const change = await this.#connection.readPlan(this.#news.look()).catch(() => undefined);
      if (change === "unknown" || (change !== undefined && change.keys.size > 0))
        for (const watcher of this.#watchers) watcher(change);
    }
    if (this.#isClosed) return;
    const again = (): void => void (this.#polling = this.#poll());
    this.#cancel = this.#system.setTimer(this.#pollMs, again, { background: true });
  }
}
