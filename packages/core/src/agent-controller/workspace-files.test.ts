import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { Agent } from "../agent/agent.ts";
import type { AgentConfig } from "../agent/agent-config.ts";
import { CALLS } from "../storage/thread-tables.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Commit, CommitOptions, Write } from "../storage/storage.ts";
import { scratch } from "../workspace/__fixtures__/scratch.ts";
import { grantablePath } from "../workspace/contained/grantable-path.ts";
import { createSkill } from "../workspace/skills/create-skill.ts";
import { Workspace, type WorkspaceOptions } from "../workspace/workspace.ts";
import { call, controllerWith, Listener, systemOf, toolsOf } from "./__fixtures__/controller-with.ts";
import type { Session } from "./session.ts";
import { SESSION_DOMAIN } from "./session-domain.ts";

const open = { id: "s", ownerId: "o" };

/** Remembers the tables of each commit. */
class NotedStorage extends InMemoryStorage {
  readonly commits: string[][] = [];

  override commit(writes: readonly Write[], options?: CommitOptions): ReturnType<InMemoryStorage["commit"]> {
    this.commits.push(writes.map(({ table }) => table.name));
    return super.commit(writes, options);
  }

  override commitAll(commits: readonly Commit[]): ReturnType<InMemoryStorage["commitAll"]> {
    for (const { writes } of commits) this.commits.push(writes.map(({ table }) => table.name));
    return super.commitAll(commits);
  }
}

describe("a session that asks for a directory", () => {
  const read = (path: string) => call("mastra_workspace_read_file", { path });

  function scene(answers: Parameters<typeof controllerWith>[0]) {
    const { files } = scratch();
    const storage = new NotedStorage();
    const workspace = new Workspace({ filesystem: files });
    const state = { yolo: true };
    const made = controllerWith(answers, { workspace, storage, initialState: state });
    return { ...made, storage };
  }

  it("gets it for itself alone, with the decision, and keeps it", async () => {
    const { outside } = scratch();
    const link = join(outside, "..", "link");
    symlinkSync(outside, link);
    const secret = join(outside, "secret.txt");
    const { controller, model, storage } = scene([
      read(secret),
      call("request_access", { path: link, reason: "To compare." }),
      read(secret),
      "Done.",
      read(secret),
      "Not here.",
    ]);
    const session = await controller.createSession(open);
    const listener = new Listener(session);
    await session.sendMessage({ content: "Go" });
    expect(listener.all("tool_suspended")).toMatchObject([
      { suspendPayload: { kind: "sandbox_access_request", path: outside, reason: "To compare." } },
    ]);
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("not found");
    await session.respondToToolSuspension({ resumeData: { granted: true } });
    await expect.poll(() => model.calls.length).toBe(4);
    expect(JSON.stringify(model.calls[3]!.prompt)).toContain("1\\tsecret");
    expect(session.state.get()["sandboxAllowedPaths"]).toEqual([outside]);
    const together = storage.commits.filter((tables) => tables.includes(CALLS.name));
    expect(together.some((tables) => tables.includes(SESSION_DOMAIN.tables[0]!.name))).toBe(true);
    const other = await controller.createSession({ ...open, id: "other", resourceId: "other" });
    await other.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).not.toContain("1\\tsecret");
  });

  it("does not get it if the answer is no", async () => {
    const { outside } = scratch();
    const { controller, model } = scene([
      call("request_access", { path: outside, reason: "Why not." }),
      read(join(outside, "secret.txt")),
      "Done.",
    ]);
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    await session.respondToToolSuspension({ resumeData: "no" });
    await expect.poll(() => model.calls.length).toBe(3);
    expect(JSON.stringify(model.calls[2]!.prompt)).not.toContain("1\\tsecret");
    expect(session.state.get()["sandboxAllowedPaths"]).toBeUndefined();
  });

  it("ignores paths in the state that could not be granted, and targets of links", async () => {
    const { outside } = scratch();
    const { files, root } = scratch();
    const { controller, model } = controllerWith(
      [
        read("/etc/passwd"),
        "Done.",
        read(join(outside, "secret.txt")),
        "Done.",
        read(join(outside, "secret.txt")),
        "Done.",
      ],
      { workspace: new Workspace({ filesystem: files }), initialState: { yolo: true } },
    );
    const session = await controller.createSession(open);
    await session.state.set({ sandboxAllowedPaths: ["/"] } as never);
    await session.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).not.toContain("root:");
    symlinkSync(outside, join(root, "x"));
    await session.state.set({ sandboxAllowedPaths: [join(root, "x")] } as never);
    await session.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).not.toContain("1\\tsecret");
    await session.state.set({ sandboxAllowedPaths: [outside] } as never);
    await session.sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("1\\tsecret");
  });

  it("does not get anything where request_access is switched off", async () => {
    const { outside } = scratch();
    const { files } = scratch();
    const workspace = new Workspace({ filesystem: files, tools: { request_access: { enabled: false } } });
    const { controller, model } = controllerWith([read(join(outside, "secret.txt")), "Done."], {
      workspace,
      initialState: { yolo: true, sandboxAllowedPaths: [outside] },
    });
    await (await controller.createSession(open)).sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).not.toContain("1\\tsecret");
  });

  it("can undo what it changed there, and nothing is written elsewhere", async () => {
    const { outside } = scratch();
    const { files, root } = scratch();
    const [gone, made] = [join(outside, "secret.txt"), join(outside, "made.txt")];
    const workspace = new Workspace({ filesystem: files });
    const { controller } = controllerWith(
      [
        call("mastra_workspace_delete", { path: gone }, "delete"),
        call("mastra_workspace_write_file", { path: made, content: "made" }, "create"),
        "Done.",
      ],
      { workspace, initialState: { yolo: true, sandboxAllowedPaths: [outside] } },
    );
    await (await controller.createSession(open)).sendMessage({ content: "Go" });
    for (const toolCallId of ["delete", "create"])
      await expect(workspace.undo({ toolCallId })).rejects.toMatchObject({ code: "conflict" });
    expect([existsSync(gone), existsSync(made), readdirSync(root)]).toEqual([false, true, []]);
    const allowedPaths = [outside];
    for (const toolCallId of ["delete", "create"]) await workspace.undo({ toolCallId, allowedPaths });
    expect([existsSync(gone), existsSync(made), readdirSync(root)]).toEqual([true, false, []]);
  });

  it("cannot ask for the system, a home, keys, or what contains the workspace", () => {
    const { root, outside } = scratch();
    const home = join(outside, "home");
    mkdirSync(join(home, ".ssh"), { recursive: true });
    mkdirSync(join(home, "project"));
    symlinkSync("/etc", join(outside, "etc"));
    for (const path of [
      "/",
      "/etc",
      "/usr/lib",
      "/tmp",
      home,
      outside,
      join(home, ".ssh"),
      join(outside, "etc"),
    ])
      expect(() => grantablePath(path, root, home), path).toThrow("access cannot be requested");
    expect(() => grantablePath(join(root, ".."), root, home)).toThrow("access cannot be requested");
    expect(() => grantablePath("project", root, home)).toThrow("absolute path");
    expect(() => grantablePath("/no/such/place", root, home)).toThrow("no such directory");
    expect(grantablePath(join(home, "project"), root, home)).toBe(join(home, "project"));
  });
});

describe("files that a workspace changed in a session", () => {
  it("are listed from its changes, under any name of the tools, which keep their categories", async () => {
    const { files, root } = scratch();
    writeFileSync(join(root, "old.txt"), "");
    const workspace = new Workspace({
      filesystem: files,
      tools: { mastra_workspace_write_file: { name: "put" }, mastra_workspace_delete: { name: "drop" } },
    });
    const { controller, model, storage } = controllerWith(
      [
        call("put", { path: "a.txt", content: "a" }),
        call("drop", { path: "old.txt" }),
        call("put", { path: "../b.txt", content: "b" }),
        "Done.",
      ],
      { workspace, toolCategoryResolver: undefined as never },
    );
    const session = await controller.createSession(open);
    await session.permissions.setForCategory({ category: "edit", policy: "allow" });
    await session.sendMessage({ content: "Go" });
    expect(model.calls).toHaveLength(4);
    const { modifiedFiles } = session.displayState.get();
    expect([...modifiedFiles].map(([path, { operations }]) => [path, operations])).toEqual([
      ["a.txt", ["create"]],
      ["old.txt", ["delete"]],
    ]);
    const elsewhere = await controllerWith([], { storage }).controller.createSession(open);
    expect(elsewhere.displayState.get().modifiedFiles).toEqual(modifiedFiles);
    const changes = await workspace.changes();
    expect(changes.map(({ path }) => path)).toEqual(["a.txt", "old.txt"]);
  });
});

describe("a session that allows a category", () => {
  async function asked(name: string, input: object, tools: WorkspaceOptions["tools"] = {}) {
    const { files, root } = scratch();
    writeFileSync(join(root, ".env"), "TOKEN=hunter2\n");
    writeFileSync(join(root, "plain.txt"), "plain");
    const { controller } = controllerWith([call(`mastra_workspace_${name}`, input), "Done."], {
      workspace: new Workspace({ filesystem: files, tools }),
      toolCategoryResolver: undefined as never,
    });
    return async (allow: (session: Session) => Promise<void>) => {
      const session = await controller.createSession(open);
      const listener = new Listener(session);
      await allow(session);
      const asks = listener.until("tool_approval_required").then(() => true);
      return Promise.race([asks, session.sendMessage({ content: "Go" }).then(() => false)]);
    };
  }
  const byGrant = (session: Session) => session.permissions.grant({ categories: ["read", "edit"] });
  const byRule = (session: Session) =>
    session.permissions.setForCategory({ category: "read", policy: "allow" });
  const secret = [`read_file`, { path: ".env" }] as const;

  it("is still asked about secrets, and where the workspace requires approval", async () => {
    expect(await (await asked("read_file", { path: "plain.txt" }))(byGrant)).toBe(false);
    expect(await (await asked(...secret))(byGrant)).toBe(true);
    expect(await (await asked(...secret))(byRule)).toBe(true);
    const tools = { mastra_workspace_mkdir: { requireApproval: true } };
    expect(await (await asked("mkdir", { path: "x" }, tools))(byGrant)).toBe(true);
  });

  it("is not asked if a rule names the tool, or if nobody is to be asked", async () => {
    const toolName = "mastra_workspace_read_file";
    const byName = (session: Session) => session.permissions.setForTool({ toolName, policy: "allow" });
    expect(await (await asked(...secret))(byName)).toBe(false);
    expect(await (await asked(...secret))((one) => one.permissions.grant({ tools: [toolName] }))).toBe(false);
    expect(await (await asked(...secret))((one) => one.state.set({ yolo: true } as never))).toBe(false);
  });
});

describe("a session with skills and a workspace", () => {
  function scene(script: Script, more: Parameters<typeof controllerWith>[1], own: Partial<AgentConfig> = {}) {
    const model = scriptedModel(script);
    const agent = new Agent({ name: "weaver", instructions: "Weave.", model, ...own }) as never;
    const { controller } = controllerWith([], { agent, initialState: { yolo: true }, ...more });
    return { controller, model };
  }
  const skills = [createSkill({ name: "sew", description: "Sews.", instructions: "Thread the needle." })];

  it("lists and loads the skills of both, and starts one by its name", async () => {
    const { files, root } = scratch();
    mkdirSync(join(root, "skills/knit"), { recursive: true });
    const text = "---\nname: knit\ndescription: Knits.\n---\nPurl two.\n";
    writeFileSync(join(root, "skills/knit/SKILL.md"), text);
    const { controller, model } = scene(
      [call("skill", { name: "sew" }), call("skill", { name: "knit" }), "Done.", "Done."],
      { workspace: new Workspace({ filesystem: files, skills: ["skills"] }) },
      { skills },
    );
    const session = await controller.createSession(open);
    await session.sendMessage({ content: "Go" });
    expect(systemOf(model, 0)).toContain("paths are relative to the workspace root");
    for (const name of ["sew", "knit"]) expect(systemOf(model, 0)).toContain(`<name>${name}</name>`);
    for (const words of ["Thread the needle.", "Purl two."])
      expect(JSON.stringify(model.calls[2]!.prompt)).toContain(words);
    await session.sendMessage({ content: "/knit please" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("The user started the skill knit");
  });

  it("has the skills of its agent without a workspace, too", async () => {
    const { controller, model } = scene([call("skill", { name: "sew" }), "Done."], {}, { skills });
    await (await controller.createSession(open)).sendMessage({ content: "Go" });
    expect(JSON.stringify(model.calls.at(-1)!.prompt)).toContain("Thread the needle.");
  });

  it("applies its rules to the workspace of its agent, under any name of the tools", async () => {
    const { files, root } = scratch();
    const tools = { mastra_workspace_write_file: { name: "put" } };
    const { controller, model } = scene(
      [call("put", { path: "a.txt", content: "x" }), "Done."],
      { toolCategoryResolver: undefined as never },
      { workspace: new Workspace({ filesystem: files, tools }) },
    );
    const session = await controller.createSession(open);
    await session.permissions.setForCategory({ category: "edit", policy: "deny" });
    await session.sendMessage({ content: "Go" });
    expect(toolsOf(model, 0)).toContain("mastra_workspace_read_file");
    expect(toolsOf(model, 0)).not.toContain("put");
    expect(existsSync(join(root, "a.txt"))).toBe(false);
  });
});
