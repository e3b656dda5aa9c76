import { describe, expect, it } from "vitest";
import { toField, toInput } from "./to-field.ts";

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
    expect(toField({ anyOf: [{ type: "string" }, { type: "number" }] }).kind).toBe("json");
  });
});

describe("toInput", () => {
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
