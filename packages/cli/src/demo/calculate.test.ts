import { describe, expect, it } from "vitest";
import { calculate } from "./calculate.ts";

describe("calculate", () => {
  it.each([
    ["1 + 2 * 3", 7],
    ["(1 + 2) * 3", 9],
    ["10 - 4 - 3", 3],
    ["2 ^ 3 ^ 2", 512],
    ["-2 ^ 2", -4],
    ["7 / 2", 3.5],
    ["--1.5", 1.5],
  ])("%s", (expression, value) => {
    expect(calculate(expression)).toBe(value);
  });

  it.each(["", "1 +", "(1", "1)", "1 2", "1 / 0", "alert(1)", "* 2"])("refuses %j", (expression) => {
    expect(() => calculate(expression)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  });
});
