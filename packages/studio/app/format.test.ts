import { expect, it } from "vitest";
import { formatDuration } from "./format.ts";

it("shows durations in the units that a person would use", () => {
  const hour = 3_600_000;
  const shown = [0, 999, 1500, 59_900, 119_600, hour - 1, hour * 25.5, hour * 72].map(formatDuration);
  expect(shown).toEqual([
    "0 ms",
    "999 ms",
    "1.50 s",
    "59.9 s",
    "2 min 0 s",
    "1 h 0 min",
    "1 d 2 h",
    "3 d 0 h",
  ]);
});
