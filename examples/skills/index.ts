import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { createSkill, LocalFilesystem, Workspace } from "@selvedge/core/workspace";
import { scriptedModel } from "@selvedge/testing";

const folder = mkdtempSync(join(tmpdir(), "project-"));
mkdirSync(join(folder, "docs"));
writeFileSync(join(folder, "docs/setup.md"), "# Setup\n\nThreading the heddles takes a day.\n");
mkdirSync(join(folder, "skills/release"), { recursive: true });
writeFileSync(
  join(folder, "skills/release/SKILL.md"),
  "---\nname: release\ndescription: Publishes a version.\n---\nRaise the version, then tag it.\n",
);

const workspace = new Workspace({
  filesystem: new LocalFilesystem({ basePath: folder }),
  bm25: true,
  autoIndexPaths: ["docs"],
  skills: ["skills"],
});

const [best] = await workspace.search("How long does heddle threading take?");
console.log(best?.id, best?.lineRange);
assert.equal(best?.id, "docs/setup.md");
assert.deepEqual(best.lineRange, { start: 1, end: 3 });

const review = createSkill({
  name: "review",
  description: "Reviews a change.",
  instructions: "Read the diff twice. Name the file and line of every remark.",
});
const model = scriptedModel([
  { toolCalls: [{ toolName: "skill", input: { name: "release" } }] },
  "Tagged.",
  "Reviewed.",
]);
const agent = new Agent({
  name: "maintainer",
  instructions: "Maintain the project.",
  model,
  workspace,
  skills: [review],
});

const { steps } = await agent.generate("Publish a version.");
assert.match(JSON.stringify(steps), /Raise the version, then tag it/);
await agent.generate("/review the last change");
assert.match(JSON.stringify(model.calls.at(-1)?.prompt), /Read the diff twice/);

console.log((await workspace.skills?.list())?.map(({ name }) => name));
rmSync(folder, { recursive: true });
