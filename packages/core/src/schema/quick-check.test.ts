import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import { expect, it } from "vitest";
import { quickCheck } from "./quick-check.ts";

const { schema } = fc.letrec((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom("string", "number", "integer", "boolean", "null").map((type) => ({ type })),
    fc.record({ type: fc.constant("array"), items: tie("schema") }, { requiredKeys: ["type"] }),
    fc.record(
      {
        type: fc.constant("object"),
        properties: fc.dictionary(fc.constantFrom("a", "b", "toString"), tie("schema")),
        required: fc.uniqueArray(fc.constantFrom("a", "b", "toString")),
        additionalProperties: fc.boolean(),
        description: fc.string(),
      },
      { requiredKeys: ["type"] },
    ),
    fc.constantFrom({}, { type: "string", minLength: 3 }, { enum: ["x"] }, { type: ["string", "null"] }),
  ),
}));

it("never calls a value fit that the general validator refuses", () => {
  let fitting = 0;
  const value = fc.oneof(
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom("a", "b", "toString", "c"), fc.jsonValue()),
  );
  fc.assert(
    fc.property(schema, value, (given, candidate) => {
      if (!quickCheck(given)?.(candidate)) return;
      fitting++;
      const { valid } = new Validator(
        given as ConstructorParameters<typeof Validator>[0],
        "2020-12",
      ).validate(candidate);
      expect(valid).toBe(true);
    }),
    { numRuns: 2000 },
  );
  expect(fitting).toBeGreaterThan(20);
});

it("answers for the plain schemas of tools, and leaves all others to the validator", () => {
  const plain = quickCheck({
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: {
      city: { type: "string", description: "Where" },
      days: { type: "array", items: { type: "integer" } },
    },
    required: ["city"],
    additionalProperties: false,
  });
  expect(plain?.({ city: "Rome", days: [1, 2] })).toBe(true);
  expect(plain?.({ days: [1] })).toBe(false);
  expect(plain?.({ city: "Rome", other: 1 })).toBe(false);
  expect(quickCheck({ type: "string", pattern: "^a" })).toBeUndefined();
  expect(quickCheck({ type: "object", properties: { a: { $ref: "#/$defs/a" } } })).toBeUndefined();
});
