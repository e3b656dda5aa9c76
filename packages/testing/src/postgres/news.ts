import { type Change, realSystem, type System } from "@selvedge/core/storage";
import type { Client, Notification } from "pg";
import { quote } from "./schema.ts";

const GATHER_MS = 4;
/** PostgreSQL takes 7,999 bytes. */
const MAX_BYTES = 7_900;
const PAUSES_MS: readonly number[] = [50, 200, 1_000, 5_000];

export interface NewsOptions {
  channel: string;
  /** The name of this process among those that publish. */
  self: string;
  connect: () => Promise<Client>;
  publish: (channel: string, payload: string) => Promise<unknown>;
  system?: System | undefined;
}

/**
 * Which keys changed, by LISTEN and NOTIFY. It is published apart from the commits and gathered for a few milliseconds:
 * a NOTIFY inside of a commit would put all commits of the database in line. What is lost costs time only.
 */
export class News {
  readonly #options: NewsOptions;
  readonly #system: System;
  readonly #watchers = new Set<(change: Change) => void>();
  #pending: Set<string> | "unknown" | undefined;
  #publishing: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #listening: Promise<void> | undefined;
  #client: Client | undefined;
  #cancelPause: (() => void) | undefined;
  #failures = 0;
  #closed = false;

  constructor(options: NewsOptions) {
    this.#options = options;
    this.#system = options.system ?? realSystem;
  }

  /** Called after a commit that took effect, or may have. */
  changed(keys: readonly string[]): void {
    if (keys.length === 0) this.#pending = "unknown";
    else if (this.#pending !== "unknown") {
      this.#pending ??= new Set();
      for (const key of keys) this.#pending.add(key);
    }
    this.#cancelTimer ??= this.#system.setTimer(GATHER_MS, () => this.#publish());
  }

  watch(onChange: (change: Change) => void): () => void {
    this.#watchers.add(onChange);
    this.#listening ??= this.#listen();
    return () => this.#watchers.delete(onChange);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer?.();
    this.#publish();
    this.#cancelPause?.();
    this.#watchers.clear();
    await this.#publishing;
    await this.#listening;
    await this.#client?.end().catch(() => {});
  }

  #publish(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    this.#cancelTimer = undefined;
    if (pending === undefined) return;
    const { channel, self, publish } = this.#options;
    let payload = JSON.stringify(pending === "unknown" ? [self] : [self, ...pending]);
    if (Buffer.byteLength(payload) > MAX_BYTES) payload = JSON.stringify([self]);
    this.#publishing = Promise.all([this.#publishing, publish(channel, payload).catch(() => {})]);
  }

  async #listen(): Promise<void> {
    if (this.#closed) return;
    try {
      const client = await this.#options.connect();
      this.#client = client;
      client.once("end", () => this.#listenLater());
      client.on("notification", (notification) => this.#receive(notification));
      await client.query(`LISTEN ${quote(this.#options.channel)}`);
      this.#failures = 0;
      // Nobody said what changed before.
      this.#tell("unknown");
    } catch {
      if (this.#client) await this.#client.end().catch(() => {});
      else this.#listenLater();
    }
  }

  #listenLater(): void {
    this.#client = undefined;
    if (this.#closed) return;
    const pause = PAUSES_MS[Math.min(this.#failures++, PAUSES_MS.length - 1)]!;
    this.#cancelPause = this.#system.setTimer(
      pause,
      () => {
        this.#listening = this.#listen();
      },
      { background: true },
    );
  }

  #receive({ payload = "[]" }: Notification): void {
    const [from, ...keys] = JSON.parse(payload) as string[];
    if (from !== this.#options.self) this.#tell(keys.length === 0 ? "unknown" : { keys: new Set(keys) });
  }

  #tell(change: Change): void {
    for (const watcher of this.#watchers) watcher(change);
  }
}
