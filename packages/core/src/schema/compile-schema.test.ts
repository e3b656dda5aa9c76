import { describe, expect, test } from "vitest";
import { compileSchema } from "./compile-schema.ts";

describe("a plain JSON Schema", () => {
  test.each([
    { schema: {}, value: undefined },
    { schema: { type: "string" }, value: undefined },
    { schema: { properties: { a: { type: "string" } } }, value: { a: undefined } },
    { schema: { properties: { a: {} } }, value: { a: 1n } },
  ])("refuses a value that JSON does not have: $schema", async ({ schema, value }) => {
    const compiled = compileSchema(schema);
    for (let round = 0; round < 2; round++)
      expect(await compiled.validate(value)).toMatchObject({ ok: false, issues: [{ path: [] }] });
  });

  test("says which property there is not", async () => {
    const compiled = compileSchema({ properties: {}, additionalProperties: false });
    expect(await compiled.validate({ a: 1 })).toMatchObject({
      issues: expect.arrayContaining([{ path: ["a"], message: "There is no such property." }]),
    });
  });

  test.each([
    { $ref: "#" },
    { $ref: "#/$defs/none" },
    { $ref: "https://example.com/other" },
    { $id: "http://[" },
    { properties: { a: { $ref: "#/properties/a" } } },
    { properties: { a: { pattern: "(" } } },
  ])("that no validator can use is refused as a schema: %j", async (schema) => {
    const compiled = compileSchema(schema);
    for (let round = 0; round < 2; round++)
      await expect((async () => compiled.validate({ a: "x" }))()).rejects.toMatchObject({
        code: "invalid-schema",
        message: expect.stringMatching(/^This JSON Schema cannot be used: .{5,200}$/),
      });
  });
});
