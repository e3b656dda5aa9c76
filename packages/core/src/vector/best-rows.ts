/** Keeps the best of many rows cheaply: a heap with the worst on top. `comesFirst` decides between equal scores. */
export class BestRows {
  readonly #most: number;
  readonly #comesFirst: (row: number, other: number) => boolean;
  readonly #rows: number[] = [];
  readonly #scores: number[] = [];

  constructor(most: number, comesFirst: (row: number, other: number) => boolean) {
    this.#most = most;
    this.#comesFirst = comesFirst;
  }

  offer(row: number, score: number): void {
    const count = this.#rows.length;
    if (count < this.#most) {
      this.#rows.push(row);
      this.#scores.push(score);
      this.#rise(count);
    } else if (count > 0 && this.#isBetter(row, score, 0)) {
      this.#put(0, row, score);
      this.#sink(0);
    }
  }

  /** Best first. */
  sorted(): { row: number; score: number }[] {
    return this.#rows
      .map((row, place) => ({ row, score: this.#scores[place]! }))
      .sort((a, b) => b.score - a.score || (this.#comesFirst(a.row, b.row) ? -1 : 1));
  }

  #isBetter(row: number, score: number, place: number): boolean {
    const other = this.#scores[place]!;
    return score > other || (score === other && this.#comesFirst(row, this.#rows[place]!));
  }

  #isWorse(place: number, other: number): boolean {
    return this.#isBetter(this.#rows[other]!, this.#scores[other]!, place);
  }

  #put(place: number, row: number, score: number): void {
    this.#rows[place] = row;
    this.#scores[place] = score;
  }

  #swap(place: number, other: number): void {
    const row = this.#rows[place]!;
    const score = this.#scores[place]!;
    this.#put(place, this.#rows[other]!, this.#scores[other]!);
    this.#put(other, row, score);
  }

  #rise(from: number): void {
    let place = from;
    while (place > 0) {
      const parent = (place - 1) >> 1;
      if (!this.#isWorse(place, parent)) return;
      this.#swap(place, parent);
      place = parent;
    }
  }

  #sink(from: number): void {
    let place = from;
    for (;;) {
      let worst = place;
      for (const child of [2 * place + 1, 2 * place + 2]) {
        if (child < this.#rows.length && this.#isWorse(child, worst)) worst = child;
      }
      if (worst === place) return;
      this.#swap(place, worst);
      place = worst;
    }
  }
}
