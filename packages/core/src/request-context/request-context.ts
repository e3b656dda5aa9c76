/** Set by server middleware to identify the request's owner. They override what the caller says. */
export const RESOURCE_ID_KEY = "mastra__resourceId";
export const THREAD_ID_KEY = "mastra__threadId";

/**
 * Values of one request (caller, origin, settings) that reach every dynamic argument, tool and processor of the run.
 * Typed by the record it was created for.
 */
export class RequestContext<Values extends Record<string, any> = Record<string, any>> {
  readonly #values: Map<string, unknown>;

  constructor(entries?: Iterable<readonly [string, unknown]>);
  constructor(entries: Partial<Values>);
  constructor(entries?: Iterable<readonly [string, unknown]> | Partial<Values>) {
    if (entries === undefined) this.#values = new Map();
    else if (Symbol.iterator in entries)
      this.#values = new Map(entries as Iterable<readonly [string, unknown]>);
    else this.#values = new Map(Object.entries(entries));
  }

  get<Key extends keyof Values & string>(key: Key): Values[Key] {
    return this.#values.get(key) as Values[Key];
  }

  set<Key extends keyof Values & string>(key: Key, value: Values[Key]): void;
  /** Undeclared keys are allowed and untyped. */
  set<Key extends string>(key: Key extends keyof Values ? never : Key, value: unknown): void;
  set(key: string, value: unknown): void {
    this.#values.set(key, value);
  }

  has(key: keyof Values & string): boolean {
    return this.#values.has(key);
  }

  delete(key: keyof Values & string): boolean {
    return this.#values.delete(key);
  }

  /** A copy without some keys. */
  without(keys: readonly string[]): RequestContext<Values> {
    return new RequestContext<Values>([...this.#values].filter(([key]) => !keys.includes(key)));
  }

  clear(): void {
    this.#values.clear();
  }

  keys(): IterableIterator<string> {
    return this.#values.keys();
  }

  values(): IterableIterator<unknown> {
    return this.#values.values();
  }

  entries(): IterableIterator<[string, unknown]> {
    return this.#values.entries();
  }

  forEach(visit: (value: unknown, key: string) => void): void {
    this.#values.forEach((value, key) => visit(value, key));
  }

  size(): number {
    return this.#values.size;
  }

  get all(): Values {
    return this.toJSON() as Values;
  }

  toJSON(): Record<string, unknown> {
    return Object.fromEntries(this.#values);
  }

  [Symbol.iterator](): IterableIterator<[string, unknown]> {
    return this.#values.entries();
  }
}
