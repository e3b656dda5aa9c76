import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { decodeValue, encodeValue } from "./value-codec.ts";

const roundTrip = (value: unknown): unknown =>
  decodeValue(JSON.parse(JSON.stringify(encodeValue(value, "output"))));

describe("a value that is stored", () => {
  it.each([
    ["undefined", undefined],
    ["undefined in objects and lists", { a: undefined, b: [undefined, 1] }],
    ["null", null],
    ["a date", { at: new Date(5) }],
    ["a map with keys of any kind", new Map<unknown, unknown>([[{ a: 1 }, new Set([1n])]])],
    ["a URL", new URL("https://example.com/a?b#c")],
    ["bytes", new Uint8Array([0, 255, 7])],
    ["a buffer", new Uint8Array([1, 2]).buffer],
    ["numbers that JSON does not have", [Number.NaN, Number.POSITIVE_INFINITY, -0]],
    ["an object that looks like a stored one", { $: "date", value: 5 }],
    ["a key that is the name of a prototype", JSON.parse('{"__proto__":{"a":1},"b":{"$":"x"}}')],
  ])("comes back: %s", (_, value) => {
    expect(roundTrip(value)).toEqual(value);
  });

  it("comes back whatever plain data it is", () => {
    const data = fc.anything({ withDate: true, withMap: true, withSet: true, withBigInt: true });
    fc.assert(
      fc.property(data, (value) => {
        const json = JSON.stringify(encodeValue(value, "output"));
        expect(JSON.stringify(encodeValue(roundTrip(value), "output"))).toBe(json);
      }),
    );
  });

  it("comes back as an error, with its code, cause and stack", () => {
    const cause = new TypeError("inner");
    const error = roundTrip(
      new AgentError("conflict", "outer", { cause, details: { a: new Date(1) } }),
    ) as AgentError;
    expect(AgentError.is(error, "conflict")).toBe(true);
    expect(error).toMatchObject({ message: "outer", details: { a: new Date(1) } });
    expect(error.cause).toMatchObject({ name: "TypeError", message: "inner", stack: cause.stack });
  });

  it("comes back as an error of the same class, if that is one of the language", () => {
    const type = roundTrip(new RangeError("far", { cause: 1 }));
    expect(type).toBeInstanceOf(RangeError);
    expect(type).toMatchObject({ name: "RangeError", message: "far", cause: 1 });
    const several = new AggregateError([new TypeError("a"), "b"], "both", { cause: 2 });
    const back = roundTrip(several) as AggregateError;
    expect(back).toBeInstanceOf(AggregateError);
    expect(back).toMatchObject({ message: "both", cause: 2, stack: several.stack });
    expect(back.errors[0]).toBeInstanceOf(TypeError);
    expect(back.errors[1]).toBe("b");
    class Refused extends Error {
      override name = "Refused";
    }
    const own = roundTrip(new Refused("no"));
    expect(own).toBeInstanceOf(Error);
    expect(own).toMatchObject({ name: "Refused", message: "no" });
  });

  it("is not copied if it is plain", () => {
    const value = { a: [1, { b: "x" }], c: null };
    expect(encodeValue(value, "output")).toBe(value);
    expect(decodeValue(value)).toBe(value);
  });
});

describe("a value that cannot be stored", () => {
  class User {}
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  it.each([
    [{ items: [1, { run: () => 1 }] }, "output.items[1].run cannot be stored: it is a function."],
    [{ user: new User() }, "output.user cannot be stored: it is an instance of User."],
    [cycle, "output.self cannot be stored: it contains itself."],
    [new Map([["k", Symbol("s")]]), "output[0][1] cannot be stored: it is a symbol."],
  ])("is refused with its place", (value, message) => {
    expect(() => encodeValue(value, "output")).toThrow(message);
  });
});
