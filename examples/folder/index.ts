import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { localEmbedder } from "@selvedge/embed-local";
import { LibSQLVector } from "@selvedge/libsql";
import { createVectorQueryTool } from "@selvedge/rag";
import { scriptedModel } from "@selvedge/testing";

// Index a folder of notes, like `npx selvedge index notes` does.
const folder = await mkdtemp(join(tmpdir(), "selvedge-example-"));
await mkdir(join(folder, "notes"));
await writeFile(join(folder, "notes", "loom.md"), "# The loom\n\nOil the pedals once a month.\n");
await writeFile(join(folder, "notes", "bread.md"), "# Bread\n\nLet the dough rise for an hour.\n");
const command = join(import.meta.dirname, "../../packages/cli/bin/selvedge.js");
const args = ["--conditions=selvedge-source", command, "index", "notes"];
console.log(execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" }).trim());
process.chdir(folder);

// Search the index with the same embedder that built it.
const vectorStore = new LibSQLVector({ url: "file:.selvedge/index.db" });
const search = createVectorQueryTool({
  vectorStore,
  indexName: "docs",
  model: localEmbedder(),
  hybrid: true,
  description: "Finds passages of the notes. Each source has the path and line it came from.",
});

const model = scriptedModel([
  { toolCalls: [{ toolName: "search", input: { queryText: "When are the pedals oiled?", topK: 1 } }] },
  "Once a month (loom.md).",
]);
const agent = new Agent({
  name: "librarian",
  instructions: "Search the notes, answer from what you found, and name the file.",
  model,
  tools: { search },
});
const { text, toolResults } = await agent.generate("When do I oil the pedals?");
console.log(text);
assert.match(JSON.stringify(toolResults), /Oil the pedals once a month/);
assert.match(JSON.stringify(toolResults), /loom\.md/);

await vectorStore.close();
process.chdir(tmpdir());
await rm(folder, { recursive: true });
