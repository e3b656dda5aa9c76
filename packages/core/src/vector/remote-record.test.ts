import { expect, it } from "vitest";
import { parseFilter } from "./filter.ts";
import { fromFlatMetadata, toFlatMetadata, toRemoteFilter } from "./remote-record.ts";

const full = { name: "Full", exists: true };
const poor = { name: "Poor", exists: false };

it("flattens what can be filtered by and brings everything back", () => {
  const metadata = { a: { b: 1 }, tags: ["x"], none: null, mixed: [1, { c: 2 }], yes: true };
  const flat = toFlatMetadata(JSON.stringify(metadata), "text");
  expect(flat).toMatchObject({ "a.b": 1, tags: ["x"], yes: true });
  expect(Object.values(flat)).not.toContain(null);
  expect(fromFlatMetadata(flat)).toEqual({ metadata, document: "text" });
  expect(fromFlatMetadata(toFlatMetadata(null, null))).toEqual({});
  expect(fromFlatMetadata({ theirs: 1 })).toEqual({ metadata: { theirs: 1 } });
});

it("says in the words of the store what it can say", () => {
  const filter = parseFilter({ "a.b": 1, n: { $gte: 2 }, $or: [{ t: { $in: ["x", "y"] } }, { u: true }] });
  expect(toRemoteFilter(filter, poor)).toEqual({
    $and: [
      { "a.b": { $eq: 1 } },
      { n: { $gte: 2 } },
      { $or: [{ t: { $in: ["x", "y"] } }, { u: { $eq: true } }] },
    ],
  });
  expect(toRemoteFilter(parseFilter({ t: { $ne: "x" } }), full)).toEqual({
    $or: [{ t: { $exists: false } }, { t: { $ne: "x" } }],
  });
  expect(toRemoteFilter(parseFilter({}), poor)).toBeUndefined();
});

it("refuses what it cannot say instead of leaving it out", () => {
  const filters = [
    { t: null },
    { t: { $ne: "x" } },
    { t: { $exists: true } },
    { t: { $contains: "x" } },
    { t: { $gt: "x" } },
    { t: { $in: [] } },
    { $or: [] },
    { $nor: [{ a: 1 }, { b: 1 }] },
  ];
  for (const filter of filters) {
    expect(() => toRemoteFilter(parseFilter(filter), poor), JSON.stringify(filter)).toThrow(
      expect.objectContaining({ code: "not-supported" }),
    );
  }
});
