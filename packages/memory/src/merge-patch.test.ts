import { describe, expect, it } from "vitest";
import { mergePatch, toPatchSchema } from "./merge-patch.ts";

describe("mergePatch", () => {
  it("changes the given keys and keeps the others, at every depth", () => {
    const before = { name: "Ada", home: { city: "London", zip: "N1" }, likes: ["tea", "maths"] };
    expect(mergePatch(before, { home: { city: "Turin" }, likes: ["looms"] })).toEqual({
      name: "Ada",
      home: { city: "Turin", zip: "N1" },
      likes: ["looms"],
    });
  });

  it("deletes a key that is null and leaves the original alone", () => {
    const before = { a: 1, b: { c: 1, d: 2 } };
    expect(mergePatch(before, { a: null, b: { c: null } })).toEqual({ b: { d: 2 } });
    expect(before).toEqual({ a: 1, b: { c: 1, d: 2 } });
  });

  it("cannot reach a prototype", () => {
    const merged = mergePatch({}, JSON.parse('{"__proto__":{"bad":1},"ok":1}'));
    expect(merged).toEqual({ ok: 1 });
    expect(({} as { bad?: number }).bad).toBeUndefined();
  });
});

describe("toPatchSchema", () => {
  it("lets every key be absent or null, at every depth", () => {
    const inner = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
    expect(toPatchSchema({ type: "object", properties: { home: inner }, required: ["home"] })).toEqual({
      type: "object",
      properties: {
        home: {
          anyOf: [
            { type: "object", properties: { city: { anyOf: [{ type: "string" }, { type: "null" }] } } },
            { type: "null" },
          ],
        },
      },
    });
  });
});
