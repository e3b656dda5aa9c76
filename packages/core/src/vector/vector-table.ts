/** Vectors in contiguous rows without gaps. */
export class VectorTable {
  readonly dimension: number;
  #data: Float32Array;
  #squares: Float64Array;
  #count = 0;

  constructor(dimension: number) {
    this.dimension = dimension;
    this.#data = new Float32Array(0);
    this.#squares = new Float64Array(0);
  }

  get data(): Float32Array {
    return this.#data;
  }

  get count(): number {
    return this.#count;
  }

  /** The squared length of a row. */
  squareAt(row: number): number {
    return this.#squares[row]!;
  }

  /** The numbers of a row, valid until the table changes. */
  at(row: number): Float32Array {
    return this.#data.subarray(row * this.dimension, (row + 1) * this.dimension);
  }

  /** Returns the number of the new row. */
  push(vector: Float32Array): number {
    if (this.#count === this.#squares.length) this.#resize(Math.max(16, 2 * this.#count));
    this.set(this.#count, vector);
    return this.#count++;
  }

  set(row: number, vector: Float32Array): void {
    this.#data.set(vector, row * this.dimension);
    this.#squares[row] = squareOf(vector);
  }

  /** Removes a row. The last row moves to its place. */
  remove(row: number): void {
    const last = --this.#count;
    if (row !== last) {
      this.#data.copyWithin(row * this.dimension, last * this.dimension, (last + 1) * this.dimension);
      this.#squares[row] = this.#squares[last]!;
    }
    if (this.#squares.length > 16 && last < this.#squares.length / 4) this.#resize(2 * last);
  }

  #resize(rows: number): void {
    const data = new Float32Array(rows * this.dimension);
    data.set(this.#data.subarray(0, this.#count * this.dimension));
    const squares = new Float64Array(rows);
    squares.set(this.#squares.subarray(0, this.#count));
    this.#data = data;
    this.#squares = squares;
  }
}

/** The squared length, summed in order, as products are. */
export function squareOf(vector: Float32Array): number {
  let sum = 0;
  for (const value of vector) sum += value * value;
  return sum;
}
