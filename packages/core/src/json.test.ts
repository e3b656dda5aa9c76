import { describe, expect, it } from "vitest";
import { roughSize, toJson } from "./json.ts";

const circular: Record<string, unknown> = { code: 7 };
circular["self"] = circular;
const throwing = {
  ok: 1,
  get bad(): never {
    throw new Error("no");
  },
};
let deep: unknown = 1;
for (let level = 0; level < 100_000; level++) deep = [deep];
const revoked = Proxy.revocable({}, {});
revoked.revoke();

describe("toJson", () => {
  it.each<[string, unknown, unknown]>([
    ["a plain value", { a: [1, "x", null, true] }, { a: [1, "x", null, true] }],
    ["what JSON leaves out", { a: undefined, f: () => 1, s: Symbol("s"), n: Number.NaN }, { n: null }],
    ["a date", new Date(0), "1970-01-01T00:00:00.000Z"],
    ["a date that is none", { at: new Date(Number.NaN) }, { at: null }],
    ["a cycle", circular, { code: 7, self: "[circular]" }],
    ["a BigInt", 5n, "5"],
    ["a BigInt inside", { n: [5n] }, { n: ["5"] }],
    ["a property that throws", throwing, { ok: 1, bad: "[unreadable]" }],
    ["a toJSON that throws", { toJSON: () => throwing.bad, a: 1 }, { a: 1 }],
    ["a function", () => 1, "[function]"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["a revoked proxy", revoked.proxy, "[unreadable]"],
    [
      "an error in a cycle",
      { cause: new TypeError("x"), big: 1n },
      { cause: { name: "TypeError", message: "x" }, big: "1" },
    ],
    ["nothing", undefined, undefined],
  ])("makes JSON of %s", (_, value, expected) => {
    expect(toJson(value)).toEqual(expected);
  });

  it("describes no more than the beginning of what is deep or long", () => {
    expect(JSON.stringify(toJson(deep)).length).toBeLessThan(100);
    const wide = { list: Array.from({ length: 1e6 }, () => 1n), text: "x".repeat(1e6) };
    expect(JSON.stringify(toJson(wide)).length).toBeLessThan(20_000);
  });

  it("answers a copy that later changes do not reach", () => {
    const live = { n: 1 };
    const copy = toJson(live);
    live.n = 2;
    expect(copy).toEqual({ n: 1 });
  });
});

describe("roughSize", () => {
  it("is near the length of the JSON, and ends with anything", () => {
    const value = { list: Array.from({ length: 100 }, (_, index) => ({ index, text: "x".repeat(50) })) };
    const length = JSON.stringify(value).length;
    expect(roughSize(value, Infinity)).toBeGreaterThan(length / 2);
    expect(roughSize(value, Infinity)).toBeLessThan(length * 2);
    for (const odd of [circular, throwing, deep, revoked.proxy, 1n, null, undefined, () => 1])
      expect(roughSize(odd, 1e9)).toBeLessThan(1e6);
    expect(roughSize(new Uint8Array(1e6), 10)).toBe(1e6);
  });
});
