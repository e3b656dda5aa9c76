import { expect, it } from "vitest";
import { MDocument, type MDocumentOptions } from "./mdocument.ts";

it("is made of a text and metadata, or of several", async () => {
  const one = new MDocument({ text: "a b", metadata: { n: 1 } });
  expect(await one.chunk()).toEqual([{ text: "a b", content: "a b", metadata: { n: 1 }, startIndex: 0 }]);
  const two = new MDocument({ docs: [{ text: "a" }, { text: "b", metadata: { n: 2 } }], type: "markdown" });
  expect((await two.chunk()).map(({ text, metadata }) => [text, metadata])).toEqual([
    ["a", {}],
    ["b", { n: 2 }],
  ]);
  expect(two.getText()).toEqual(["a", "b"]);
  expect(two.getMetadata()).toEqual([{}, { n: 2 }]);
  expect(two.getDocs()).toHaveLength(2);
});

it("gives each chunk metadata of its own, with the start index when asked", async () => {
  const chunks = await MDocument.fromText("one two", { n: 1 }).chunk({
    size: 4,
    overlap: 0,
    addStartIndex: true,
  });
  expect(chunks.map(({ metadata }) => metadata)).toEqual([
    { n: 1, startIndex: 0 },
    { n: 1, startIndex: 4 },
  ]);
  chunks[0]!.metadata.n = 5;
  expect(chunks[1]!.metadata.n).toBe(1);
});

it("has no chunks of an empty text", async () => {
  for (const text of ["", "  \n "]) expect(await MDocument.fromText(text).chunk()).toEqual([]);
});

it("refuses what is not a document", () => {
  const bad = [
    undefined,
    null,
    "text",
    {},
    { text: 5 },
    { docs: "x" },
    { docs: [null] },
    { text: "a", type: "pdf" },
  ];
  for (const options of [
    ...bad,
    { text: "a", metadata: [] },
    { text: "a", metadata: JSON.parse('{"__proto__":1}') },
  ]) {
    expect(() => new MDocument(options as MDocumentOptions)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  }
});

it("refuses a value that has no JSON form", () => {
  const circle: Record<string, unknown> = {};
  circle.self = circle;
  for (const value of [circle, undefined, () => 1, 1n]) {
    expect(() => MDocument.fromJSON(value)).toThrow(expect.objectContaining({ code: "invalid-argument" }));
  }
});
