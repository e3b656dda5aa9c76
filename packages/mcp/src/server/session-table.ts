import type { Logger, System } from "@selvedge/core";
import type { SessionLimits } from "./server-config.ts";

interface Session<Transport> {
  transport: Transport;
  principal: string | undefined;
  /** Open requests and streams. */
  open: number;
  usedAt: number;
}

const DEFAULT_IDLE_MS = 30 * 60_000;
const DEFAULT_MAX = 1000;
const DEFAULT_MAX_PER_CALLER = 100;

/**
 * Sessions by id. Idle sessions are closed. Over a caller's limit, that caller's least recently used session is closed;
 * over the total limit, one of the caller with the most sessions, so that no caller can push out others.
 */
export class SessionTable<Transport extends { close(): Promise<void> }> {
  readonly #sessions = new Map<string, Session<Transport>>();
  readonly #idleMs: number;
  readonly #max: number;
  readonly #maxPerCaller: number;
  readonly #system: System;
  readonly #logger: Logger;
  #cancelSweep: (() => void) | undefined;

  constructor(limits: SessionLimits, system: System, logger: Logger) {
    this.#idleMs = limits.idleMs ?? DEFAULT_IDLE_MS;
    this.#max = limits.max ?? DEFAULT_MAX;
    this.#maxPerCaller = limits.maxPerCaller ?? DEFAULT_MAX_PER_CALLER;
    this.#system = system;
    this.#logger = logger;
  }

  get size(): number {
    return this.#sessions.size;
  }

  add(id: string, transport: Transport, principal: string | undefined): void {
    this.#sessions.set(id, { transport, principal, open: 0, usedAt: this.#system.monotonic() });
    this.#makeRoom(id, principal);
    this.#sweepLater();
  }

  /** Finds a session only for the principal that opened it. */
  get(id: string, principal: string | undefined): Transport | undefined {
    const session = this.#sessions.get(id);
    if (!session || session.principal !== principal) return undefined;
    session.usedAt = this.#system.monotonic();
    return session.transport;
  }

  /** Marks a session as in use until the returned function is called. */
  busy(id: string): () => void {
    const session = this.#sessions.get(id);
    if (!session) return () => {};
    session.open++;
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      session.open--;
      session.usedAt = this.#system.monotonic();
    };
  }

  remove(id: string): void {
    this.#sessions.delete(id);
  }

  async close(): Promise<void> {
    this.#cancelSweep?.();
    const sessions = [...this.#sessions.values()];
    this.#sessions.clear();
    await Promise.all(sessions.map(({ transport }) => transport.close()));
  }

  #sweepLater(): void {
    this.#cancelSweep ??= this.#system.setTimer(
      Math.max(this.#idleMs / 4, 10),
      () => {
        this.#cancelSweep = undefined;
        const limit = this.#system.monotonic() - this.#idleMs;
        for (const [id, { open, usedAt }] of this.#sessions) if (open === 0 && usedAt <= limit) this.#end(id);
        if (this.#sessions.size > 0) this.#sweepLater();
      },
      { background: true },
    );
  }

  #makeRoom(added: string, principal: string | undefined): void {
    const byCaller = Map.groupBy(this.#sessions, ([, session]) => session.principal);
    const own = byCaller.get(principal) ?? [];
    if (principal !== undefined && own.length > this.#maxPerCaller) return this.#endUnused(own, added);
    if (this.#sessions.size <= this.#max) return;
    const [most = []] = [...byCaller.values()].sort((a, b) => b.length - a.length);
    this.#endUnused(most, added);
  }

  #endUnused(sessions: [string, Session<Transport>][], except: string): void {
    const [unused] = sessions
      .filter(([id]) => id !== except)
      .sort(([, a], [, b]) => a.open - b.open || a.usedAt - b.usedAt);
    if (unused) this.#end(unused[0]);
  }

  #end(id: string): void {
    const session = this.#sessions.get(id);
    this.#sessions.delete(id);
    session?.transport
      .close()
      .catch((error: unknown) => this.#logger.warn("An MCP session did not close:", error));
  }
}
