import fc from "fast-check";
import { expect, it } from "vitest";
import { planBatches } from "./plan-batches.ts";

it("puts each text into one batch, beside those of its length", () => {
  expect(planBatches([])).toEqual([]);
  expect(planBatches([20, 4_000, 30, 500, 25])).toEqual([[1], [3], [2, 4, 0]]);
  fc.assert(
    fc.property(fc.array(fc.nat(5_000)), (lengths) => {
      const batches = planBatches(lengths);
      expect(batches.flat().toSorted((a, b) => a - b)).toEqual(lengths.map((_, position) => position));
      for (const batch of batches) {
        expect(batch.length).toBeLessThanOrEqual(32);
        if (batch.length > 1) expect(batch.length * lengths[batch[0]!]!).toBeLessThanOrEqual(400);
      }
    }),
  );
});
