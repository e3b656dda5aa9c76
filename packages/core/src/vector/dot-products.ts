/**
 * The dot product of a query with each row of a contiguous table of vectors, or with `rows` in their order. Each sum
 * follows the order of the dimensions, so equal vectors have equal products at any position.
 */
export function dotProducts(
  { data, dimension }: { data: Float32Array; dimension: number },
  query: ArrayLike<number>,
  rows: number | Int32Array,
): Float64Array {
  const count = typeof rows === "number" ? rows : rows.length;
  // In double precision, so that it is not converted again for every row.
  const wanted = Float64Array.from(query);
  const sums = new Float64Array(count + 7);
  const at = (place: number): number => {
    // Results beyond the last row are cut off.
    const known = Math.min(place, count - 1);
    return (typeof rows === "number" ? known : rows[known]!) * dimension;
  };
  for (let row = 0; row < count; row += 8) {
    eightProducts(data, wanted, sums, row, [
      at(row),
      at(row + 1),
      at(row + 2),
      at(row + 3),
      at(row + 4),
      at(row + 5),
      at(row + 6),
      at(row + 7),
    ]);
  }
  return sums.subarray(0, count);
}

type Eight = [number, number, number, number, number, number, number, number];

/** Eight sums at once: they do not depend on each other, and each query number is loaded once for all. */
function eightProducts(
  data: Float32Array,
  query: Float64Array,
  sums: Float64Array,
  to: number,
  [a, b, c, d, e, f, g, h]: Eight,
): void {
  let sumA = 0;
  let sumB = 0;
  let sumC = 0;
  let sumD = 0;
  let sumE = 0;
  let sumF = 0;
  let sumG = 0;
  let sumH = 0;
  for (let index = 0; index < query.length; index++) {
    const value = query[index]!;
    sumA += data[a + index]! * value;
    sumB += data[b + index]! * value;
    sumC += data[c + index]! * value;
    sumD += data[d + index]! * value;
    sumE += data[e + index]! * value;
    sumF += data[f + index]! * value;
    sumG += data[g + index]! * value;
    sumH += data[h + index]! * value;
  }
  sums[to] = sumA;
  sums[to + 1] = sumB;
  sums[to + 2] = sumC;
  sums[to + 3] = sumD;
  sums[to + 4] = sumE;
  sums[to + 5] = sumF;
  sums[to + 6] = sumG;
  sums[to + 7] = sumH;
}
