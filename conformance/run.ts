import { fileURLToPath } from "node:url";
import { blockTable, laterModules } from "./block-table.ts";
import { judgeDocuments } from "./judge-documents.ts";
import { problems, report } from "./report.ts";

const documents = fileURLToPath(new URL("../../shared/spec", import.meta.url));
const judgement = await judgeDocuments(documents, { table: blockTable, laterModules });
if (judgement) {
  console.log(report(judgement));
  process.exitCode = problems(judgement).length > 0 ? 1 : 0;
} else {
  console.log("conformance:docs is skipped: the documents are not at ../shared/spec.");
}
