/** Measures a text in the unit of its chunks. Positions are always UTF-16 offsets. */
export interface Ruler {
  /** The furthest position at which a chunk that starts here may end. */
  reach(start: number): number;
  /** The earliest position from which the end of a chunk may be repeated in the next one. */
  back(end: number): number;
  /** The nearest end after which repeating the overlap still makes progress. */
  least(start: number): number;
}

/** Counts UTF-16 units, as `String.length` does. */
export function lengthRuler({ size, overlap }: { size: number; overlap: number }): Ruler {
  return {
    reach: (start) => start + size,
    back: (end) => end - overlap,
    least: (start) => start + overlap + 1,
  };
}

/** Parts of a text with their weights: part `i` spans `starts[i]` to `starts[i + 1]`. */
export interface Weighed {
  starts: number[];
  weights: number[];
  end: number;
}

/** Sums the weights of parts. No part weighs more than `size`. `fits` may refuse a stretch that seems short enough. */
export function weightRuler(
  { starts, weights, end }: Weighed,
  { size, overlap }: { size: number; overlap: number },
  fits: (start: number, end: number) => boolean = () => true,
): Ruler {
  const borders = [...starts, end];
  const sums = [0];
  for (const weight of weights) sums.push(sums.at(-1)! + weight);
  const sumAt = (index: number): number => sums[index]!;
  /** The last boundary at or before a position. */
  const indexAt = (position: number): number => lastUpTo(borders, position);
  return {
    reach(start) {
      const first = indexAt(start);
      let last = lastUpTo(sums, sumAt(first) + size);
      while (last > first + 1 && !fits(start, borders[last]!)) last--;
      return borders[Math.max(last, first + 1)] ?? end;
    },
    back(position) {
      if (overlap === 0) return position;
      const at = indexAt(position);
      const last = borders[at] === position ? at : at + 1;
      return borders[firstFrom(sums, sumAt(last) - overlap)] ?? end;
    },
    least(start) {
      const first = indexAt(start);
      return borders[lastUpTo(sums, sumAt(first) + overlap) + 1] ?? end;
    },
  };
}

/** The index of the first element not below `value` in a sorted list; its length if there is none. */
function firstFrom(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The index of the last element not above `value` in a sorted list; -1 if there is none. */
function lastUpTo(sorted: readonly number[], value: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (sorted[middle]! <= value) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}
