import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LocalFilesystem, Workspace } from "@selvedge/core/workspace";
import { expect, onTestFinished, test } from "vitest";
import { handlerOf, HERE, hostWith } from "./__fixtures__/served-agent.ts";
import { MastraClient } from "./mastra-client.ts";

/** A client of a server whose agent writes `note.md` on its first turn. */
async function open() {
  const folder = await mkdtemp(join(tmpdir(), "client-workspace-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filesystem = new LocalFilesystem({ basePath: folder });
  const workspace = new Workspace({ id: "loom", filesystem, bm25: true, skills: ["skills"] });
  const input = { path: "note.md", content: "Weft.\n" };
  const host = hostWith(
    [{ toolCalls: [{ toolCallId: "c1", toolName: "mastra_workspace_write_file", input }] }, "Done."],
    { workspace },
  );
  const { fetch } = handlerOf(host);
  const client = new MastraClient({
    baseUrl: "http://localhost",
    fetch: (url, init) => fetch(new Request(url as string, init)),
  });
  return { client, agent: host.agent, files: filesystem, loom: client.getWorkspace("loom") };
}

test("works with the files of a workspace", async () => {
  const { client, loom } = await open();
  expect(await client.listWorkspaces()).toMatchObject({ workspaces: [{ id: "loom", source: "agent" }] });
  expect(await loom.info()).toMatchObject({ capabilities: { canBM25: true, hasSkills: true } });
  await loom.mkdir("docs");
  await loom.writeFile("docs/a.md", "Warp.");
  await loom.writeFile("a.bin", "AP8B", { encoding: "base64" });
  expect((await loom.listFiles()).entries.map(({ name }) => name)).toEqual(["a.bin", "docs"]);
  expect((await loom.readFile("docs/a.md")).content).toBe("Warp.");
  expect(await loom.readFile("a.bin")).toMatchObject({ encoding: "base64", content: "AP8B" });
  expect(await loom.stat("docs/a.md")).toMatchObject({ type: "file", size: 5 });
  await loom.delete("docs", { recursive: true });
  await expect(loom.stat("docs")).rejects.toMatchObject({ code: "not-found" });
});

test("searches a workspace and reads its skills", async () => {
  const { loom } = await open();
  await loom.index({ path: "memo", content: "The heddles are threaded." });
  expect((await loom.search({ query: "heddles" })).results).toMatchObject([{ id: "memo" }]);
  await loom.writeFile("skills/weave/SKILL.md", "---\nname: weave\ndescription: Weaves.\n---\nWarp first.");
  await loom.writeFile("skills/weave/references/yarn/wool.md", "Wool shrinks.");
  expect((await loom.listSkills()).skills).toMatchObject([{ name: "weave" }]);
  const skill = loom.getSkill("weave");
  expect(await skill.details()).toMatchObject({ instructions: "Warp first." });
  expect((await skill.listReferences()).references).toEqual(["yarn/wool.md"]);
  expect((await skill.getReference("yarn/wool.md")).content).toBe("Wool shrinks.");
  const found = await loom.searchSkills({ query: "shrinks", skillNames: ["weave"] });
  expect(found.results).toMatchObject([{ skillName: "weave" }]);
});

test("lists what a thread changed, and undoes it once", async () => {
  const { agent, files, loom } = await open();
  await agent.generate("Go.", { memory: { thread: HERE.threadId, resource: HERE.resourceId } });
  const { changes } = await loom.changes({ threadId: HERE.threadId });
  expect(changes).toMatchObject([{ toolCallId: "c1", path: "note.md", added: 1 }]);
  expect(await loom.undo({ toolCallId: "c1" })).toMatchObject({ undoneAt: expect.any(String) });
  expect(await files.exists("note.md")).toBe(false);
  await expect(loom.undo({ toolCallId: "c1" })).rejects.toMatchObject({ code: "conflict" });
});
