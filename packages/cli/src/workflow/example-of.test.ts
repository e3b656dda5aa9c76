import { describe, expect, it } from "vitest";
import { exampleOf } from "./example-of.ts";

const text = { type: "string" };

describe("an example of what a schema accepts", () => {
  it.each<[string, unknown, string]>([
    ["nothing known", undefined, "'{}'"],
    [
      "required fields",
      { type: "object", properties: { approved: { type: "boolean" }, note: text }, required: ["approved"] },
      `'{"approved":true}'`,
    ],
    [
      "defaults and choices",
      {
        properties: { cloth: { enum: ["indigo", "ecru"] }, metres: { type: "integer", default: 24 } },
        required: ["cloth", "metres"],
      },
      `'{"cloth":"indigo","metres":24}'`,
    ],
    ["a list", { type: "array", items: { type: "number", minimum: 5 } }, "'[5]'"],
    ["one of several", { anyOf: [{ type: "null" }, text] }, "'{}'"],
    ["a quote", { const: "it's" }, String.raw`'"it'\''s"'`],
    [
      "a schema in itself",
      (() => {
        const loop: Record<string, unknown> = { properties: {}, required: ["next"] };
        loop["properties"] = { next: loop };
        return loop;
      })(),
      expect.stringContaining("next") as string,
    ],
  ])("has %s", (_, schema, expected) => {
    expect(exampleOf(schema)).toEqual(expected);
  });
});
