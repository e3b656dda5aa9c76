import { realSystem, type System } from "../system.ts";
import { OptionChecks } from "./option-checks.ts";
import type { ResponseCacheStore } from "./response-cache.ts";

export interface InMemoryResponseCacheOptions {
  /** The oldest replies are dropped beyond this many characters. Default: 50,000,000. */
  maxSize?: number;
  system?: System;
}

/** Caches replies in this process, up to a size. */
export class InMemoryResponseCache implements ResponseCacheStore {
  readonly #maxSize: number;
  readonly #system: System;
  /** Least recently used first. */
  readonly #entries: Map<string, { value: string; expiresAt: number }> = new Map();
  #size = 0;

  constructor({ maxSize = 50_000_000, system = realSystem }: InMemoryResponseCacheOptions = {}) {
    this.#maxSize = new OptionChecks("InMemoryResponseCache").integer("maxSize", maxSize, 1);
    this.#system = system;
  }

  get(key: string): string | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#remove(key);
    if (entry.expiresAt <= this.#system.now()) return undefined;
    this.#add(key, entry);
    return entry.value;
  }

  set(key: string, value: string, ttlMs: number): void {
    this.#remove(key);
    if (value.length > this.#maxSize) return;
    this.#add(key, { value, expiresAt: this.#system.now() + ttlMs });
    for (const oldest of this.#entries.keys()) {
      if (this.#size <= this.#maxSize) break;
      this.#remove(oldest);
    }
  }

  #add(key: string, entry: { value: string; expiresAt: number }): void {
    this.#entries.set(key, entry);
    this.#size += key.length + entry.value.length;
  }

  #remove(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) this.#size -= key.length + entry.value.length;
    this.#entries.delete(key);
  }
}
