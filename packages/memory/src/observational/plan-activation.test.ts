import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { resolveOmConfig } from "./om-config.ts";
import { omLimits } from "./om-limits.ts";
import type { ObservationalMemoryOptions } from "./om-options.ts";
import {
  activatesReflection,
  activatesReflectionEarly,
  countLeftOut,
  planActivation,
  planEarlyActivation,
} from "./plan-activation.ts";

const limitsOf = (options: ObservationalMemoryOptions = {}) => omLimits(resolveOmConfig(options)!);
const LIMITS = limitsOf();
const plan = (pendingTokens: number, chunks: number[], limits = LIMITS) =>
  planActivation({ pendingTokens, chunks }, limits);

describe("an activation", () => {
  test("waits for the threshold", () => {
    expect(plan(29_999, [6000, 6000])).toBe(0);
  });

  test("takes the chunks that come to pending minus kept", () => {
    expect(plan(30_000, [6000, 6000, 6000, 6000, 6000])).toBe(4);
  });

  test("prefers slightly too much", () => {
    expect(plan(30_000, [7000, 7000, 7000, 7000])).toBe(4);
  });

  test("does not overshoot by more than 95 % of what is kept", () => {
    const limits = limitsOf({ observation: { bufferActivation: 2000 } });
    expect(plan(30_000, [27_000, 2900], limits)).toBe(1);
  });

  test("leaves at least 1,000 tokens", () => {
    expect(plan(30_000, [23_000, 6500])).toBe(1);
  });

  test("takes a single chunk that covers everything", () => {
    expect(plan(30_000, [30_000])).toBe(1);
  });

  test("may overshoot above blockAfter, with the smallest set that reaches the target", () => {
    expect(plan(36_500, [23_000, 13_000, 500])).toBe(2);
  });

  test("takes everything if that is not enough", () => {
    expect(plan(60_000, [6000, 6000])).toBe(2);
  });

  test("keeps nothing with bufferActivation 1", () => {
    expect(plan(30_000, [10_000, 10_000, 10_000], limitsOf({ observation: { bufferActivation: 1 } }))).toBe(
      3,
    );
  });

  test("checks again after a part, so that no long tail stays", () => {
    // The first round stops before the second chunk, which overshoots. What is left is still too much.
    expect(plan(35_900, [5000, 30_500])).toBe(2);
  });

  test("happens early only if enough stays", () => {
    const early = (pendingTokens: number, chunks: number[]) =>
      planEarlyActivation({ pendingTokens, chunks }, LIMITS);
    expect(early(15_000, [6000, 6000])).toBe(2);
    expect(early(6000, [6000])).toBe(0);
    expect(early(6500, [6000])).toBe(0);
    expect(early(30_000, [30_000])).toBe(1);
  });

  const cases = fc.record({
    chunks: fc.array(fc.integer({ min: 1, max: 60_000 }), { maxLength: 12 }),
    fresh: fc.integer({ min: 0, max: 60_000 }),
    observation: fc.record({
      messageTokens: fc.integer({ min: 2000, max: 50_000 }),
      bufferActivation: fc.double({ min: 1e-6, max: 1, noNaN: true }),
    }),
  });

  test("at the threshold always takes something, and leaves less than the threshold or no chunk", () => {
    fc.assert(
      fc.property(cases, ({ chunks, fresh, observation }) => {
        const limits = limitsOf({ observation });
        const pending = chunks.reduce((sum, one) => sum + one, fresh);
        const count = plan(pending, chunks, limits);
        if (pending < limits.messageTokens) {
          expect(count).toBe(0);
          return;
        }
        const left = chunks.slice(0, count).reduce((sum, one) => sum - one, pending);
        expect(count > 0 || chunks.length === 0).toBe(true);
        expect(left < limits.messageTokens || count === chunks.length).toBe(true);
        expect(planActivation({ pendingTokens: left, chunks: chunks.slice(count) }, limits)).toBe(0);
      }),
    );
  });
});

describe("messages without notes", () => {
  test("all stay up to twice the threshold", () => {
    expect(countLeftOut(Array<number>(20).fill(100), 1000)).toBe(0);
  });

  test("above it are left out in one stride", () => {
    expect(countLeftOut(Array<number>(21).fill(100), 1000)).toBe(11);
  });

  test("never lose the newest", () => {
    expect(countLeftOut([10, 20, 9999], 1000)).toBe(2);
    expect(countLeftOut([9999], 1000)).toBe(0);
  });

  test("keep a stable start while messages are added, and a window that is bounded", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 200 }), (tokens) => {
        let strides = 0;
        let previous = 0;
        for (let end = 1; end <= tokens.length; end++) {
          const start = countLeftOut(tokens.slice(0, end), 1000);
          const window = tokens.slice(start, end).reduce((sum, one) => sum + one, 0);
          expect(start).toBeGreaterThanOrEqual(previous);
          expect(window).toBeLessThanOrEqual(2000);
          if (start > previous) strides++;
          // What was left out once can be forgotten: the rest gives the same answer.
          expect(previous + countLeftOut(tokens.slice(previous, end), 1000)).toBe(start);
          previous = start;
        }
        const total = tokens.reduce((sum, one) => sum + one, 0);
        expect(strides).toBeLessThanOrEqual(total / 1000);
      }),
    );
  });
});

describe("a reflection", () => {
  const input = { logTokens: 39_999, inputTokens: 20_000, reflectionTokens: 8000 };

  test("replaces its chunks at the threshold", () => {
    expect(activatesReflection(input, LIMITS)).toBe(false);
    expect(activatesReflection({ ...input, logTokens: 40_000 }, LIMITS)).toBe(true);
  });

  test.each([
    // A usual activation leaves 8,000 + 20,000.
    [27_999, false],
    [28_000, false],
    [33_000, true],
  ])("is activated early only for its use: a log of %i", (logTokens, expected) => {
    expect(activatesReflectionEarly({ ...input, logTokens }, LIMITS)).toBe(expected);
  });

  test("is not activated early if what follows is smaller than it", () => {
    const limits = omLimits(resolveOmConfig(true)!, { observationTokens: 21_000 });
    expect(
      activatesReflectionEarly({ logTokens: 20_900, inputTokens: 20_000, reflectionTokens: 901 }, limits),
    ).toBe(false);
    expect(
      activatesReflectionEarly({ logTokens: 20_900, inputTokens: 20_000, reflectionTokens: 900 }, limits),
    ).toBe(true);
  });
});
