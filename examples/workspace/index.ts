import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { LocalFilesystem, Workspace } from "@selvedge/core/workspace";
import { scriptedModel } from "@selvedge/testing";

const folder = mkdtempSync(join(tmpdir(), "project-"));
writeFileSync(join(folder, "notes.md"), "# Notes\n\nThe cat is called Loom.\n");
symlinkSync(tmpdir(), join(folder, "shortcut"));

const workspace = new Workspace({ filesystem: new LocalFilesystem({ basePath: folder }) });
const agent = new Agent({
  name: "editor",
  instructions: "Work on the files of this project.",
  workspace,
  model: scriptedModel([
    {
      toolCalls: [
        { toolName: "mastra_workspace_grep", input: { pattern: "cat" } },
        { toolName: "mastra_workspace_read_file", input: { path: "shortcut/anything.txt" } },
      ],
    },
    {
      toolCalls: [
        {
          toolName: "mastra_workspace_edit_file",
          input: { path: "notes.md", old_string: "Loom", new_string: "Shuttle" },
        },
      ],
    },
    "I renamed the cat.",
  ]),
});

const { text, steps } = await agent.generate("Rename the cat.");
const results = JSON.stringify(steps.map(({ content }) => content));
console.log(text);

assert.match(results, /notes\.md:3:5: The cat is called Loom/);
assert.match(results, /leads out of the workspace/);
assert.match(readFileSync(join(folder, "notes.md"), "utf8"), /called Shuttle/);
rmSync(folder, { recursive: true });
