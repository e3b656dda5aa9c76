/** The best few of many candidates, best first; smaller ids first among equals. */
export class Nearest {
  readonly #ids: Int32Array;
  readonly #weights: Float64Array;
  #count = 0;
  /** The weight a candidate must beat once the list is full. */
  #worst = -Infinity;

  constructor(size: number) {
    this.#ids = new Int32Array(size);
    this.#weights = new Float64Array(size);
  }

  /** The same id may be offered again with the same weight. */
  offer(id: number, weight: number): void {
    if (weight < this.#worst) return;
    const ids = this.#ids;
    const weights = this.#weights;
    const isFull = this.#count === ids.length;
    let place = this.#count;
    while (
      place > 0 &&
      (weight > weights[place - 1]! || (weight === weights[place - 1]! && id < ids[place - 1]!))
    )
      place--;
    if (place === ids.length || (place > 0 && ids[place - 1] === id)) return;
    const end = isFull ? this.#count - 1 : this.#count;
    for (let index = end; index > place; index--) {
      ids[index] = ids[index - 1]!;
      weights[index] = weights[index - 1]!;
    }
    ids[place] = id;
    weights[place] = weight;
    this.#count = end + 1;
    if (this.#count === ids.length) this.#worst = weights[this.#count - 1]!;
  }

  clear(): void {
    this.#count = 0;
    this.#worst = -Infinity;
  }

  ids(): Int32Array {
    return this.#ids.subarray(0, this.#count);
  }

  weights(): Float64Array {
    return this.#weights.subarray(0, this.#count);
  }
}
