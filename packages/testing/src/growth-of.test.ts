import { expect, it } from "vitest";
import { growthOf } from "./growth-of.ts";

function steps(count: number): number {
  let sum = 0;
  for (let step = 0; step < count; step++) sum = (sum * 31 + step) | 0;
  return sum;
}

it("tells linear work from quadratic work", async () => {
  expect(await growthOf((size) => steps(1_000 * size), 100)).toBeLessThan(1.5);
  expect(await growthOf((size) => steps(size * size), 1_000)).toBeGreaterThan(1.6);
});

it("waits for work that answers with a promise", async () => {
  const work = async (size: number): Promise<void> => {
    await Promise.resolve();
    steps(size * size);
  };
  expect(await growthOf(work, 1_000)).toBeGreaterThan(1.6);
});
