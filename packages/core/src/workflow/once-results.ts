import { AgentError, showValue } from "../errors.ts";
import type { Path } from "./path.ts";
import { outcomeUnknown } from "./run-errors.ts";
import type { OnceRecord } from "./run-port.ts";

interface Surroundings {
  /** Resolves when the record is stored. */
  store(record: OnceRecord): Promise<void>;
  /** Throws if a result cannot be stored. */
  check(value: unknown, place: string): void;
}

/** What `once()` did in the steps that are not done. */
export class OnceResults {
  readonly #records = new Map<string, OnceRecord>();
  readonly #around: Surroundings;

  constructor(past: readonly OnceRecord[], around: Surroundings) {
    for (const one of past) this.#records.set(keyOf(one.path, one.key), one);
    this.#around = around;
  }

  get all(): OnceRecord[] {
    return [...this.#records.values()];
  }

  /** Runs a function once for a step, and stores its result at once. */
  async run(path: Path, key: string, fn: () => unknown, atMostOnce: boolean): Promise<unknown> {
    if (typeof key !== "string" || key === "")
      throw new AgentError("invalid-argument", `once() needs a key, got ${showValue(key)}.`);
    const known = this.#records.get(keyOf(path, key));
    if (known?.result) return known.result.value;
    if (known && atMostOnce) throw outcomeUnknown(path, `once("${key}")`);
    if (atMostOnce) await this.#store({ path, key });
    let value: unknown;
    try {
      value = await fn();
      this.#around.check(value, `once("${key}")`);
    } catch (error) {
      // It is known to have failed, so it may be tried again.
      if (atMostOnce) this.#records.delete(keyOf(path, key));
      throw error;
    }
    await this.#store({ path, key, result: { value } });
    return value;
  }

  /** The step is done. Returns whether it had any. */
  forget(path: Path): boolean {
    let had = false;
    for (const [key, { path: of }] of this.#records) if (of === path) had = this.#records.delete(key);
    return had;
  }

  #store(record: OnceRecord): Promise<void> {
    this.#records.set(keyOf(record.path, record.key), record);
    return this.#around.store(record);
  }
}

function keyOf(path: Path, key: string): string {
  return `${path}\n${key}`;
}
