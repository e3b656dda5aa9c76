import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { dotProducts } from "./dot-products.ts";

const numbers = fc.float({ min: -1_000, max: 1_000, noNaN: true });

describe("dotProducts", () => {
  it("multiplies every row, or the rows asked for, and sums in the order of the dimensions", () => {
    const tables = fc.integer({ min: 1, max: 9 }).chain((dimension) =>
      fc.record({
        query: fc.array(numbers, { minLength: dimension, maxLength: dimension }),
        rows: fc.array(fc.array(numbers, { minLength: dimension, maxLength: dimension }), { maxLength: 30 }),
        picked: fc.array(fc.nat({ max: 29 }), { maxLength: 20 }),
      }),
    );
    fc.assert(
      fc.property(tables, ({ query, rows, picked }) => {
        const table = { data: Float32Array.from(rows.flat()), dimension: query.length };
        const expected = rows.map((row) => {
          let sum = 0;
          row.forEach((value, index) => (sum += value * query[index]!));
          return sum;
        });
        expect([...dotProducts(table, query, rows.length)]).toEqual(expected);
        const some = picked.filter((row) => row < rows.length);
        expect([...dotProducts(table, query, Int32Array.from(some))]).toEqual(
          some.map((row) => expected[row]),
        );
      }),
    );
  });
});
