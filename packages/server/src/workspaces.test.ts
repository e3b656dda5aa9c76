import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Agent, Mastra } from "@selvedge/core";
import { RESOURCE_ID_KEY } from "@selvedge/core/request-context";
import { InMemoryStorage } from "@selvedge/core/storage";
import { Workspace } from "@selvedge/core/workspace";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { describe, expect, test } from "vitest";
import { byHeader, served, type Served } from "./__fixtures__/served.ts";
import { tenantFiles } from "./__fixtures__/tenant-files.ts";
import { createServer } from "./server.ts";

const params = { workspaceId: "files" };

/** A server whose callers each have their own folder. */
function tenants(): Served & ReturnType<typeof tenantFiles> {
  const tenant = tenantFiles();
  return { ...served([], { authorize: byHeader, agent: { workspace: tenant.workspace } }), ...tenant };
}

/** A server with one folder for all callers. */
function shared(guarded = true): Served & ReturnType<typeof tenantFiles> {
  const tenant = tenantFiles();
  const workspace = new Workspace({ id: "files", filesystem: tenant.files("all") });
  const server = served([], { ...(guarded && { authorize: byHeader }), agent: { workspace } });
  return { ...server, ...tenant, workspace };
}

test("lists, reads, writes and deletes the caller's own files", async () => {
  const { json, files } = tenants();
  const me = "ann+control";
  await json("writeWorkspaceFile", { params, body: { path: "src/a.ts", content: "let a;" } }, me);
  await json("makeWorkspaceDirectory", { params, body: { path: "docs" } }, me);
  const listed = await json("listWorkspaceFiles", { params, query: { path: ".", recursive: true } }, "ann");
  expect(listed.entries.map(({ name }) => name)).toEqual(["docs", "src", "src/a.ts"]);
  const query = { path: "src/a.ts" };
  expect(await json("readWorkspaceFile", { params, query }, "ann")).toMatchObject({
    content: "let a;",
    encoding: "utf-8",
    size: 6,
  });
  expect(await json("statWorkspaceFile", { params, query }, "ann")).toMatchObject({ type: "file", size: 6 });
  await json("deleteWorkspaceFile", { params, query }, me);
  expect(await files("ann").exists("src/a.ts")).toBe(false);
});

test("sends a file as an attachment that no browser shows as a page", async () => {
  const { call, files } = tenants();
  await files("ann").writeFile("page.html", "<script>alert(1)</script>");
  for (const download of [true, false]) {
    const query = { path: "page.html", download };
    const { headers } = await call("readWorkspaceFile", { params, query }, "ann");
    expect(headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''page.html");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-type")).toMatch(/^application\/(?:octet-stream|json)/);
  }
});

test("sends bytes that are no text in base64, and as they are with download", async () => {
  const { call, json, files } = tenants();
  await files("ann").writeFile("a.bin", Buffer.from([0, 255, 1]));
  const query = { path: "a.bin" };
  const read = await json("readWorkspaceFile", { params, query }, "ann");
  expect(read).toMatchObject({ encoding: "base64", content: "AP8B" });
  const raw = await call("readWorkspaceFile", { params, query: { ...query, download: true } }, "ann");
  expect([...new Uint8Array(await raw.arrayBuffer())]).toEqual([0, 255, 1]);
});

test("shows a workspace that all callers share only with the grant inspect", async () => {
  const { call, json, files } = shared();
  await files("all").writeFile("a.md", "a");
  expect(await json("listWorkspaces", {}, "ann+control")).toEqual({ workspaces: [] });
  const query = { path: "a.md" };
  expect((await call("readWorkspaceFile", { params, query }, "ann+control")).status).toBe(404);
  expect(await json("readWorkspaceFile", { params, query }, "ann+inspect")).toMatchObject({ content: "a" });
});

test("shows a shared workspace to everyone on a server without an authoriser", async () => {
  const { json, files } = shared(false);
  await files("all").writeFile("a.md", "a");
  const { workspaces } = await json("listWorkspaces");
  expect(workspaces).toMatchObject([{ id: "files", source: "agent", agentId: "helper" }]);
  expect(await json("getWorkspace", { params })).toMatchObject({ capabilities: { hasFilesystem: true } });
});

test("asks the function of an agent for the workspace of the authenticated caller, not of the one a request names", async () => {
  const { files } = tenantFiles();
  await files("ann").writeFile("a.md", "ann's");
  const { call, json } = served([], {
    authorize: byHeader,
    agent: {
      workspace: ({ requestContext }) => {
        const tenant = String(requestContext.get(RESOURCE_ID_KEY));
        if (tenant === "eve") throw new Error("Eve has no files.");
        return new Workspace({ id: "files", filesystem: files(tenant) });
      },
    },
  });
  const query = { path: "a.md", resourceId: "ann" };
  expect(await json("readWorkspaceFile", { params, query }, "ann")).toMatchObject({ content: "ann's" });
  for (const other of ["bob", "eve"]) {
    const response = await call("readWorkspaceFile", { params, query }, `${other}+inspect,control`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain("ann's");
  }
});

test("serves secrets only with the grant control, also behind links", async () => {
  const { call, files, folder } = tenants();
  await files("ann").writeFile(".env", "KEY=1");
  symlinkSync(".env", join(folder, "ann", "plain.txt"));
  for (const path of [".env", "./.env", "plain.txt"]) {
    const query = { path };
    const refused = await call("readWorkspaceFile", { params, query }, "ann");
    expect(refused.status).toBe(403);
    expect(await refused.text()).not.toContain("KEY=1");
    expect((await call("readWorkspaceFile", { params, query }, "ann+control")).status).toBe(200);
  }
});

test("does not change files of Git", async () => {
  const { call, files } = tenants();
  await files("ann").writeFile(".git/config", "[core]");
  const body = { path: ".git/config", content: "x" };
  expect((await call("writeWorkspaceFile", { params, body }, "ann+control")).status).toBe(403);
  const query = { path: ".git", recursive: true };
  expect((await call("deleteWorkspaceFile", { params, query }, "ann+control")).status).toBe(403);
});

test("names a missing file in the error, and no path of the machine", async () => {
  const { call, folder } = tenants();
  const response = await call("readWorkspaceFile", { params, query: { path: "no.md" } }, "ann");
  const text = await response.text();
  expect(response.status).toBe(404);
  expect(text).toContain("no.md");
  expect(text).not.toContain(folder);
});

describe.each([
  "../bob/secret.md",
  "a/../../bob/secret.md",
  "/etc/passwd",
  "..%2fbob%2fsecret.md",
  "%2e%2e/bob/secret.md",
  "..\\bob\\secret.md",
  "~/secret.md",
  "out/secret.md",
  "secret.md\0.txt",
  "a".repeat(256),
])("path %j", (path) => {
  test("reaches nothing outside the root", async () => {
    const { call, files, folder } = tenants();
    await files("bob").writeFile("secret.md", "bob's secret");
    files("ann");
    symlinkSync(join(folder, "bob"), join(folder, "ann", "out"));
    writeFileSync(join(folder, "outside"), "");
    const me = "ann+control,inspect";
    for (const name of ["readWorkspaceFile", "statWorkspaceFile", "listWorkspaceFiles"] as const) {
      const response = await call(name, { params, query: { path } } as never, me);
      expect(response.status).toBeGreaterThanOrEqual(400);
      expect(await response.text()).not.toContain("bob's secret");
    }
    await call("writeWorkspaceFile", { params, body: { path, content: "overwritten" } }, me);
    await call("deleteWorkspaceFile", { params, query: { path } }, me);
    await call("makeWorkspaceDirectory", { params, body: { path } }, me);
    expect(await files("bob").readFile("secret.md", { encoding: "utf8" })).toBe("bob's secret");
    expect((await files("bob").readdir(".")).length).toBe(1);
  });
});

test.each(["..%2f..%2fnote.md", "%2e%2e%2fSKILL.md", "%00", "..%5cnote.md", "%2fetc%2fpasswd"])(
  "reads no file outside references/ as %s",
  async (reference) => {
    const { server, files } = tenants();
    await files("ann").writeFile("note.md", "outside");
    await files("ann").writeFile("skills/weave/SKILL.md", "---\nname: weave\ndescription: d\n---\nbody");
    const url = `http://localhost/api/workspaces/files/skills/weave/references/${reference}`;
    const response = await server.fetch(new Request(url, { headers: { "x-user": "ann" } }));
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(await response.text()).not.toContain("outside");
  },
);

test("finds passages and skills", async () => {
  const { json, files } = tenants();
  await files("ann").writeFile("docs/loom.md", "Threading the heddles takes an hour.");
  await files("ann").writeFile(
    "skills/weave/SKILL.md",
    "---\nname: weave\ndescription: Weaves.\n---\nWarp first.",
  );
  await files("ann").writeFile("skills/weave/references/yarn/wool.md", "Wool shrinks.");
  const found = await json("searchWorkspace", { params, query: { query: "heddles" } }, "ann");
  expect(found).toMatchObject({ mode: "bm25", results: [{ id: "docs/loom.md" }] });
  const { skills } = await json("listSkills", { params }, "ann");
  expect(skills).toMatchObject([{ name: "weave", path: "skills/weave", source: "local" }]);
  const one = { ...params, skillName: "weave" };
  expect(await json("getSkill", { params: one }, "ann")).toMatchObject({ instructions: "Warp first." });
  const ofAgent = { params: { agentId: "helper", skillName: "weave" } };
  expect(await json("getAgentSkill", ofAgent, "ann")).toMatchObject({ instructions: "Warp first." });
  const { references } = await json("listSkillReferences", { params: one }, "ann");
  expect(references).toEqual(["yarn/wool.md"]);
  const referencePath = references[0]!;
  expect(await json("getSkillReference", { params: { ...one, referencePath } }, "ann")).toMatchObject({
    content: "Wool shrinks.",
  });
  const hits = await json("searchSkills", { params, query: { query: "shrinks" } }, "ann");
  expect(hits.results).toMatchObject([{ skillName: "weave", source: "references/yarn/wool.md" }]);
  await json("indexWorkspace", { params, body: { path: "memo", content: "A shuttle." } }, "ann+control");
  const memo = await json("searchWorkspace", { params, query: { query: "shuttle" } }, "ann");
  expect(memo.results).toMatchObject([{ id: "memo" }]);
});

/** Two callers whose threads each changed a file of one workspace. */
async function twoThreads() {
  const { files } = tenantFiles();
  const workspace = new Workspace({ id: "files", filesystem: files("all") });
  const model = scriptedModel(({ index }) =>
    index % 2 === 0
      ? {
          toolCalls: [
            {
              toolCallId: "call",
              toolName: "mastra_workspace_write_file",
              input: { path: `${index}.md`, content: "new" },
            },
          ],
        }
      : "Done.",
  );
  const agent = new Agent({ name: "editor", instructions: "", model, workspace, memory: new Memory() });
  const mastra = new Mastra({ agents: { editor: agent }, storage: new InMemoryStorage() });
  const { fetch } = createServer({ mastra, authorize: byHeader });
  await agent.generate("Go.", { memory: { thread: "anns", resource: "ann" } });
  await agent.generate("Go.", { memory: { thread: "bobs", resource: "bob" } });
  const call = async (path: string, as: string, method = "GET") => {
    const headers = { "x-user": as, "x-grants": "inspect,control", "content-type": "application/json" };
    const init = { method, headers, ...(method === "POST" && { body: "{}" }) };
    const response = await fetch(new Request(`http://localhost/api/workspaces/files/${path}`, init));
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
  return { call, files: files("all") };
}

test("lists and undoes the changes of the caller's threads, and of no others with the same call id", async () => {
  const { call, files } = await twoThreads();
  const { body } = await call("changes", "ann");
  expect(body["changes"]).toMatchObject([{ threadId: "anns", path: "0.md", operation: "create", added: 1 }]);
  const undone = await call("changes/call/undo", "ann", "POST");
  expect(undone.body).toMatchObject({ threadId: "anns", undoneAt: expect.any(String) });
  expect((await files.readdir(".")).map(({ name }) => name)).toEqual(["2.md"]);
  expect((await call("changes/call/undo", "eve", "POST")).status).toBe(404);
});

test("refuses to undo a change to a file that has changed since", async () => {
  const { call, files } = await twoThreads();
  await files.writeFile("0.md", "by hand");
  const { status, body } = await call("changes/call/undo", "ann", "POST");
  expect(status).toBe(409);
  expect(body["message"]).toBe("0.md cannot be restored: it has changed since.");
});
