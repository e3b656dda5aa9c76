/**
 * Limits how many of something exist at once, in total and per owner. An `undefined` owner counts only in the total.
 */
export class Quota {
  readonly #limits: { total: number; each: number };
  readonly #owners = new Map<string, number>();
  #count = 0;

  constructor(limits: { total: number; each: number }) {
    this.#limits = limits;
  }

  get count(): number {
    return this.#count;
  }

  countOf(owner: string): number {
    return this.#owners.get(owner) ?? 0;
  }

  /** Which limit one more would exceed. */
  full(owner: string | undefined): "total" | "each" | undefined {
    if (owner !== undefined && (this.#owners.get(owner) ?? 0) >= this.#limits.each) return "each";
    return this.#count >= this.#limits.total ? "total" : undefined;
  }

  /** Counts one more until the returned function is called. The caller checks beforehand whether there is room. */
  take(owner: string | undefined): () => void {
    this.#change(owner, 1);
    let given = false;
    return () => {
      if (given) return;
      given = true;
      this.#change(owner, -1);
    };
  }

  #change(owner: string | undefined, change: 1 | -1): void {
    this.#count += change;
    if (owner === undefined) return;
    const count = (this.#owners.get(owner) ?? 0) + change;
    if (count === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, count);
  }
}
