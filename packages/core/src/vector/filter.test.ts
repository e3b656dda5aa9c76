import { expect, it } from "vitest";
import { matchesFilter, parseFilter } from "./filter.ts";

it("reduces the operators to a few", () => {
  expect(parseFilter({ a: 1 })).toEqual({ op: "eq", path: ["a"], value: 1 });
  expect(parseFilter({ "a.b": { $nin: [1] } })).toEqual({
    op: "not",
    node: { op: "in", path: ["a", "b"], values: [1] },
  });
  expect(parseFilter({ $nor: [{ a: { $exists: false } }] })).toEqual({
    op: "not",
    node: { op: "or", nodes: [{ op: "not", node: { op: "exists", path: ["a"] } }] },
  });
});

it("names the operator it does not know and those it does", () => {
  expect(() => parseFilter({ a: { $regex: "x" } })).toThrow(
    /\$regex is not an operator. Operators are \$eq, /,
  );
  expect(() => parseFilter({ $where: "x" })).toThrow(/\$where is not an operator/);
});

it("shows how to look inside an object", () => {
  expect(() => parseFilter({ a: { b: 1 } })).toThrow(/write "a\.b"/);
});

it("never finds what only the prototype has", () => {
  const exists = parseFilter({ toString: { $exists: true } });
  expect(matchesFilter(exists, {})).toBe(false);
  expect(matchesFilter(exists, JSON.parse('{"toString": 1}'))).toBe(true);
});
