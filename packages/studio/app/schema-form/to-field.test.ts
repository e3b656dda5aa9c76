import { describe, expect, it } from "vitest";
import { optionOf, toField, toInput } from "./to-field.ts";

const object = (properties: Record<string, unknown>, required: string[] = []) =>
  toField({ type: "object", properties, required });

describe("toField", () => {
  it("gives each kind of value a control of its own", () => {
    const field = object(
      {
        name: { type: "string", maxLength: 20 },
        count: { type: "integer", minimum: 1 },
        loud: { type: "boolean" },
        colour: { enum: ["red", "blue"] },
        tags: { type: "array", items: { type: "string" } },
        any: {},
      },
      ["name"],
    );
    expect(field.kind === "object" && field.properties.map(({ field: { kind } }) => kind)).toEqual([
      "text",
      "number",
      "boolean",
      "choice",
      "list",
      "json",
    ]);
  });

  it("follows references within the schema, and gives up on circles", () => {
    const schema = {
      type: "object",
      properties: { at: { $ref: "#/$defs/place" }, next: { $ref: "#" } },
      $defs: { place: { type: "object", properties: { city: { type: "string" } } } },
    };
    const field = toField(schema);
    expect(field.kind === "object" && field.properties[0]!.field.kind).toBe("object");
    expect(JSON.stringify(field).length).toBeLessThan(20_000);
    expect(toField({ $ref: "#/$defs/a", $defs: { a: { $ref: "#/$defs/a" } } }).kind).toBe("json");
  });

  it("takes a value that may be null for an optional one", () => {
    expect(toField({ anyOf: [{ type: "string" }, { type: "null" }], description: "d" })).toMatchObject({
      kind: "text",
      description: "d",
    });
    expect(toField({ type: ["number", "null"] }).kind).toBe("number");
    expect(toField({ enum: ["a", null], type: ["string", "null"] })).toMatchObject({
      kind: "choice",
      choices: ["a"],
      nullable: true,
    });
  });
});

describe("toField for what is not simple", () => {
  it("offers the options of a union under names that tell them apart", () => {
    const field = toField({
      oneOf: [
        { type: "object", properties: { by: { const: "post" }, street: { type: "string" } } },
        { type: "object", properties: { by: { const: "pickup" }, hour: { type: "integer" } } },
        { type: "string" },
      ],
    });
    expect(field.kind === "variant" && field.options.map(({ label }) => label)).toEqual([
      "by: post",
      "by: pickup",
      "text",
    ]);
    expect(toInput(field, { by: "pickup", hour: 9 })).toEqual({ by: "pickup", hour: 9 });
    expect(toInput(field, "x")).toBe("x");
    expect(
      field.kind === "variant" && [{ by: "pickup" }, "x"].map((value) => optionOf(field, value)),
    ).toEqual([1, 2]);
  });

  it("puts the parts of allOf together", () => {
    const field = toField({
      allOf: [
        { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
        { $ref: "#/$defs/b" },
      ],
      $defs: { b: { type: "object", properties: { b: { type: "number" } } } },
    });
    expect(field.kind === "object" && field.properties.map(({ name, required }) => [name, required])).toEqual(
      [
        ["a", true],
        ["b", false],
      ],
    );
  });

  it("takes the browser's entries for dates and addresses, and patterns only where it can read them", () => {
    const input = (schema: object) => toField({ type: "string", ...schema });
    expect(input({ format: "date", pattern: "x" })).toMatchObject({ input: "date" });
    expect(input({ format: "date", pattern: "x" })).not.toHaveProperty("pattern");
    expect(input({ format: "date-time" })).toMatchObject({ input: "text", example: "2026-01-31T12:00:00Z" });
    expect(input({ maxLength: 9, pattern: "^a" })).toMatchObject({ pattern: ".*(?:^a).*" });
    expect(input({ maxLength: 9, pattern: "[" })).not.toHaveProperty("pattern");
  });

  it("begins a list with the items it must have, and writes places with meanings of their own as JSON", () => {
    const items = { type: "object", properties: { n: { type: "number" } } };
    expect(toField({ type: "array", items, minItems: 2 }).initial).toEqual([
      { n: undefined },
      { n: undefined },
    ]);
    expect(toField({ type: "array", prefixItems: [items, items] }).kind).toBe("json");
    expect(toField({ type: "array", items, minItems: 1e9 }).initial).toHaveLength(5);
  });
});

describe("toInput", () => {
  it("leaves out an optional group with required fields as a whole, until it is added", () => {
    const address = { type: "object", properties: { street: { type: "string" } }, required: ["street"] };
    const field = object({ address, name: { type: "string" } }, ["name"]);
    expect(field.initial).toEqual({ address: undefined, name: "" });
    expect(toInput(field, { name: "a" })).toEqual({ name: "a" });
    expect(toInput(field, { name: "a", address: { street: "" } })).toEqual({
      name: "a",
      address: { street: "" },
    });
  });

  it("means null by an empty entry that is required and may be null", () => {
    const field = object({ a: { type: ["string", "null"] }, b: { type: ["number", "null"] } }, ["a"]);
    expect(toInput(field, field.initial)).toEqual({ a: null });
  });

  it("leaves out a box that nobody ticked, unless it is required", () => {
    const field = object({ on: { type: "boolean" }, must: { type: "boolean" } }, ["must"]);
    expect(toInput(field, field.initial)).toEqual({ must: false });
  });

  it("leaves out what is optional and empty, and keeps what is required", () => {
    const field = object({ a: { type: "string" }, b: { type: "string" }, n: { type: "number" } }, ["a"]);
    expect(toInput(field, field.initial)).toEqual({ a: "" });
    expect(toInput(field, { a: "x", b: "", n: 0 })).toEqual({ a: "x", n: 0 });
  });

  it("sends false, which is a value", () => {
    const field = object({ on: { type: "boolean" } });
    expect(toInput(field, { on: false })).toEqual({ on: false });
  });
});
