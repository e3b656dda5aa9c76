import { expect, it } from "vitest";
import { toLimits } from "./to-limits.ts";

const DEFAULTS = { bytes: 100, ms: 5 };

it("fills in what is not given", () => {
  expect(toLimits(DEFAULTS, { bytes: 7 })).toEqual({ bytes: 7, ms: 5 });
  expect(toLimits(DEFAULTS, { bytes: undefined as never, ms: Number.POSITIVE_INFINITY })).toEqual({
    bytes: 100,
    ms: Number.POSITIVE_INFINITY,
  });
  expect(toLimits(DEFAULTS, undefined)).toEqual(DEFAULTS);
});

it.each([{ bytes: Number.NaN }, { bytes: "5" }, { bytes: -1 }, { bytes: null }, { byte: 5 }])(
  "refuses %o, which would limit nothing",
  (given) => {
    expect(() => toLimits(DEFAULTS, given as never)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  },
);
