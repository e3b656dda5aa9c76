import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { blockTable, laterModules } from "./block-table.ts";
import { judgeDocuments } from "./judge-documents.ts";
import { problems, report } from "./report.ts";

const documents = fileURLToPath(new URL("../../shared/spec", import.meta.url));
const judgement = await judgeDocuments(documents, { table: blockTable, laterModules });
console.log(
  judgement ? report(judgement) : "The documents are not at ../shared/spec: their blocks are skipped.",
);

describe.skipIf(!judgement)("the documents", () => {
  it("hold: every covered block passes, and the table matches the blocks", () => {
    expect(problems(judgement!)).toEqual([]);
  });
});
