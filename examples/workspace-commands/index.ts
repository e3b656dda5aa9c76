import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { LocalFilesystem, LocalSandbox, Workspace } from "@selvedge/core/workspace";
import { scriptedModel } from "@selvedge/testing";

const folder = mkdtempSync(join(tmpdir(), "project-"));
writeFileSync(join(folder, "numbers.txt"), "3\n1\n2\n");

const workspace = new Workspace({
  filesystem: new LocalFilesystem({ basePath: folder }),
  sandbox: new LocalSandbox({ workingDirectory: folder }),
});
const run = (command: string) => ({
  toolCalls: [{ toolName: "mastra_workspace_execute_command", input: { command } }],
});
const agent = new Agent({
  name: "runner",
  instructions: "Run commands in this project.",
  workspace,
  model: scriptedModel([
    run("sort numbers.txt | tee sorted.txt"),
    run("touch ~/escaped; ls -A ~ | wc -l"),
    "Sorted.",
  ]),
});

const { sandbox } = await workspace.getInfo();
console.log(`Isolation: ${sandbox?.isolation}`);
if (sandbox?.isolation === "none") {
  // Nothing but trust bounds a command, so it asks first.
  const { finishReason } = await agent.generate("Sort the numbers.");
  assert.equal(finishReason, "suspended");
} else {
  const { text, steps } = await agent.generate("Sort the numbers.");
  console.log(text);
  assert.match(JSON.stringify(steps.map(({ content }) => content)), /1\\n2\\n3/);
  assert.ok(existsSync(join(folder, "sorted.txt")));
  assert.ok(!existsSync(join(homedir(), "escaped")));
}
await workspace.destroy();
rmSync(folder, { recursive: true });
