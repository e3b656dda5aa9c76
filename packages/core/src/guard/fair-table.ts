/**
 * A table of limited size that several owners share. When it is full, the oldest entry of whoever has the most goes: a
 * crowd of one owner drives out its own, and what another has is safe up to an equal share.
 */
export class FairTable<Value> {
  readonly #max: number;
  readonly #onEvict: (value: Value, id: string) => void;
  readonly #entries = new Map<string, { owner: string | undefined; value: Value }>();
  /** Ids by owner, oldest first. */
  readonly #owners = new Map<string | undefined, Set<string>>();

  constructor(max: number, onEvict: (value: Value, id: string) => void = () => {}) {
    this.#max = max;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(id: string): boolean {
    return this.#entries.has(id);
  }

  get(id: string): Value | undefined {
    return this.#entries.get(id)?.value;
  }

  ids(): string[] {
    return [...this.#entries.keys()];
  }

  /** `undefined` is an owner like others: all whom nobody tells apart. */
  set(id: string, owner: string | undefined, value: Value): void {
    this.delete(id);
    if (this.#entries.size >= this.#max) this.#evict();
    this.#entries.set(id, { owner, value });
    const own = this.#owners.get(owner);
    if (own) own.add(id);
    else this.#owners.set(owner, new Set([id]));
  }

  delete(id: string): boolean {
    const entry = this.#entries.get(id);
    if (!entry) return false;
    this.#entries.delete(id);
    const own = this.#owners.get(entry.owner)!;
    own.delete(id);
    if (own.size === 0) this.#owners.delete(entry.owner);
    return true;
  }

  #evict(): void {
    let most: ReadonlySet<string> = new Set();
    for (const own of this.#owners.values()) if (own.size > most.size) most = own;
    const [oldest] = most;
    if (oldest === undefined) return;
    const { value } = this.#entries.get(oldest)!;
    this.delete(oldest);
    this.#onEvict(value, oldest);
  }
}
