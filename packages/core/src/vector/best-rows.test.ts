import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BestRows } from "./best-rows.ts";

describe("BestRows", () => {
  it("keeps what a full sort would put first", () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 20 }), { maxLength: 80 }),
        fc.nat({ max: 90 }),
        (scores, most) => {
          const best = new BestRows(most, (row, other) => row > other);
          scores.forEach((score, row) => best.offer(row, score));
          const sorted = scores
            .map((score, row) => ({ row, score }))
            .sort((a, b) => b.score - a.score || b.row - a.row);
          expect(best.sorted()).toEqual(sorted.slice(0, most));
        },
      ),
    );
  });
});
