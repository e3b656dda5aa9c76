/**
 * A table of limited size shared by several owners. Over `each`, an owner loses its own oldest entry; over `total`, the
 * owner with the most entries loses one. A busy owner thus pushes out only its own entries, and others are safe up to
 * an equal share.
 */
export class FairTable<Value> {
  readonly #limits: { total: number; each: number };
  readonly #onEvict: (value: Value, id: string) => void;
  readonly #entries = new Map<string, { owner: string | undefined; value: Value }>();
  /** Ids by owner, oldest first. */
  readonly #owners = new Map<string | undefined, Set<string>>();

  constructor(
    limits: { total: number; each: number },
    onEvict: (value: Value, id: string) => void = () => {},
  ) {
    this.#limits = limits;
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

  /** `undefined` stands for owners that cannot be told apart; they have no per-owner limit. */
  set(id: string, owner: string | undefined, value: Value): void {
    this.delete(id);
    const own = this.#owners.get(owner) ?? new Set();
    if (owner !== undefined && own.size >= this.#limits.each) this.#evict(own);
    else if (this.#entries.size >= this.#limits.total) this.#evict(this.#largest());
    this.#entries.set(id, { owner, value });
    this.#owners.set(owner, own.add(id));
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

  #largest(): ReadonlySet<string> {
    let most: ReadonlySet<string> = new Set();
    for (const own of this.#owners.values()) if (own.size > most.size) most = own;
    return most;
  }

  #evict([oldest]: ReadonlySet<string>): void {
    if (oldest === undefined) return;
    const { value } = this.#entries.get(oldest)!;
    this.delete(oldest);
    this.#onEvict(value, oldest);
  }
}
