import { expect, it } from "vitest";
import { createDocumentChunkerTool } from "./document-chunker-tool.ts";
import { MDocument } from "./mdocument.ts";

it("cuts its document without any input", async () => {
  const doc = new MDocument({ text: "one two three four", metadata: { source: "test" } });
  const tool = createDocumentChunkerTool({ doc, params: { size: 10, overlap: 0 } });
  expect(tool.id).toBe("Document Chunker recursive 10");
  expect(tool.description).toBe("Chunks document using recursive strategy with size 10 and 0 overlap");
  const { chunks } = await tool.execute();
  expect(chunks.map(({ content }) => content)).toEqual(["one two", "three four"]);
  expect(chunks[0]!.metadata).toEqual({ source: "test" });
});

it("has the documented defaults and refuses wrong params when it is made", () => {
  const doc = MDocument.fromText("x");
  expect(createDocumentChunkerTool({ doc }).description).toContain("size 512 and 50 overlap");
  expect(() => createDocumentChunkerTool({ doc, params: { size: 5, overlap: 5 } })).toThrow(/overlap/);
  expect(() => createDocumentChunkerTool({ doc: "text" as never })).toThrow(/MDocument/);
});
