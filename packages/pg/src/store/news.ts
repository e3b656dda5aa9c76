import type { Change, System } from "@selvedge/core/storage";
import type { Client, Notification } from "pg";
import type { Connections } from "./connections.ts";
import { quote } from "./schema.ts";
import type { StoreSettings } from "./store-options.ts";

const GATHER_MS = 4;
/** PostgreSQL accepts 7,999 bytes. */
const MAX_BYTES = 7_900;
const PAUSES_MS: readonly number[] = [50, 200, 1_000, 5_000];
/** NOTIFY does not wait for the disk. */
const NOTIFY =
  "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, payload) FROM unnest($2::text[]) AS payload";
/** Changes with every transaction of the server that ends. */
const SNAPSHOT = "SELECT pg_current_snapshot()::text AS snapshot";

interface NewsOptions {
  channel: string;
  settings: Pick<StoreSettings, "listen" | "pollMs">;
  connections: Connections;
  system: System;
}

/**
 * Which keys changed, by LISTEN and NOTIFY. It is published apart from the commits and collected for a few milliseconds:
 * a NOTIFY inside a commit would put all commits of the database in line. News that are lost cost only time.
 */
export class News {
  readonly #options: NewsOptions;
  readonly #system: System;
  /** The name of this process among those that publish. */
  readonly #self: string;
  readonly #watchers = new Set<(change: Change) => void>();
  #pending: Set<string> | "unknown" | undefined;
  #publishing: Promise<unknown> = Promise.resolve();
  #cancelTimer: (() => void) | undefined;
  #listening: Promise<void> | undefined;
  #client: Client | undefined;
  #cancelPause: (() => void) | undefined;
  #failures = 0;
  #snapshot: string | undefined;
  #closed = false;

  constructor(options: NewsOptions) {
    this.#options = options;
    this.#system = options.system;
    this.#self = options.system.newId();
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
    this.#listening ??= this.#options.settings.listen ? this.#listen() : this.#poll();
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
    const payloads = toPayloads(this.#self, pending === "unknown" ? [] : [...pending]);
    const { channel, connections } = this.#options;
    const publishing = connections.read([{ text: NOTIFY, values: [channel, payloads] }]).catch(() => {});
    this.#publishing = Promise.all([this.#publishing, publishing]);
  }

  async #listen(): Promise<void> {
    if (this.#closed) return;
    const { settings, connections, channel } = this.#options;
    try {
      const client = await connections.listener(settings.listen!);
      this.#client = client;
      client.once("end", () => {
        this.#client = undefined;
        this.#again(PAUSES_MS[Math.min(this.#failures++, PAUSES_MS.length - 1)]!);
      });
      client.on("notification", (notification) => this.#receive(notification));
      await client.query(`LISTEN ${quote(channel)}`);
      this.#failures = 0;
      // Changes before this were not announced.
      this.#tell("unknown");
    } catch {
      if (this.#client) await this.#client.end().catch(() => {});
      else this.#again(PAUSES_MS[Math.min(this.#failures++, PAUSES_MS.length - 1)]!);
    }
  }

  async #poll(): Promise<void> {
    if (this.#closed) return;
    try {
      const [found] = await this.#options.connections.read([{ text: SNAPSHOT, values: [] }]);
      const { snapshot } = found!.rows[0] as { snapshot: string };
      if (snapshot !== this.#snapshot) this.#tell("unknown");
      this.#snapshot = snapshot;
    } catch {
      this.#snapshot = undefined;
    }
    this.#again(this.#options.settings.pollMs);
  }

  #again(pause: number): void {
    if (this.#closed) return;
    const start = (): void => {
      this.#listening = this.#options.settings.listen ? this.#listen() : this.#poll();
    };
    this.#cancelPause = this.#system.setTimer(pause, start, { background: true });
  }

  #receive({ payload = "" }: Notification): void {
    const [from, ...keys] = toNames(payload);
    if (from !== this.#self) this.#tell(keys.length === 0 ? "unknown" : { keys: new Set(keys) });
  }

  #tell(change: Change): void {
    for (const watcher of this.#watchers) watcher(change);
  }
}

/** A sender and keys. Anyone who can connect may notify any channel, with anything. */
function toNames(payload: string): string[] {
  try {
    const names: unknown = JSON.parse(payload);
    if (Array.isArray(names)) return names.map(String);
  } catch {
    // Not from a store.
  }
  return [];
}

/** As few payloads as have room for the keys. Without keys, or with one that is too long, anything may have changed. */
function toPayloads(self: string, keys: readonly string[]): string[] {
  const payload = JSON.stringify([self, ...keys]);
  if (Buffer.byteLength(payload) <= MAX_BYTES) return [payload];
  if (keys.length === 1) return toPayloads(self, []);
  const half = Math.ceil(keys.length / 2);
  return [...toPayloads(self, keys.slice(0, half)), ...toPayloads(self, keys.slice(half))];
}
