import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent, Mastra } from "@selvedge/core";
import { InMemoryStorage } from "@selvedge/core/storage";
import { LocalSandbox, Workspace } from "@selvedge/core/workspace";
import { Memory } from "@selvedge/memory";
import { scriptedModel } from "@selvedge/testing";
import { expect, onTestFinished, test } from "vitest";
import { byHeader } from "./__fixtures__/served.ts";
import { createServer } from "./server.ts";

const RUN = "mastra_workspace_execute_command";

/** A server on which the threads of two callers each have a background process. */
async function twoProcesses() {
  const workingDirectory = mkdtempSync(join(tmpdir(), "processes-"));
  const sandbox = new LocalSandbox({ workingDirectory, isolation: "none", logger: false });
  const workspace = new Workspace({
    id: "runner",
    sandbox,
    tools: { [RUN]: { requireApproval: false } },
  });
  onTestFinished(async () => {
    await workspace.destroy();
    rmSync(workingDirectory, { recursive: true });
  });
  const model = scriptedModel(({ index }) =>
    index % 2 === 0
      ? { toolCalls: [{ toolName: RUN, input: { command: "sleep 600", background: true } }] }
      : "Started.",
  );
  const agent = new Agent({ name: "runner", instructions: "", model, workspace, memory: new Memory() });
  const mastra = new Mastra({ agents: { runner: agent }, storage: new InMemoryStorage(), logger: false });
  const { fetch } = createServer({ mastra, authorize: byHeader });
  await agent.generate("Go.", { memory: { thread: "anns", resource: "ann" } });
  await agent.generate("Go.", { memory: { thread: "bobs", resource: "bob" } });
  return async (path: string, as: string, body?: object) => {
    const headers = { "x-user": as, "x-grants": "inspect,control", "content-type": "application/json" };
    const init = { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) };
    const response = await fetch(new Request(`http://localhost/api/workspaces/runner/${path}`, init));
    return { status: response.status, body: (await response.json()) as Record<string, any> };
  };
}

test("lists the background processes of the caller's threads, and ends one of them", async () => {
  const call = await twoProcesses();
  const { processes } = (await call("processes", "ann")).body;
  expect(processes).toMatchObject([
    { threadId: "anns", command: "sleep 600", state: "running", canKill: true },
  ]);
  const { pid } = processes[0];
  const ended = await call(`processes/${pid}/kill`, "ann", { threadId: "anns" });
  expect(ended.body).toMatchObject({ pid, state: "exited", canKill: false });
  expect((await call("processes", "ann")).body["processes"]).toMatchObject([{ pid, state: "exited" }]);
});

test("shows and ends no process of another caller", async () => {
  const call = await twoProcesses();
  const [bobs] = (await call("processes", "bob")).body["processes"];
  expect((await call("processes?threadId=bobs", "ann")).body["processes"]).toEqual([]);
  const refused = await call(`processes/${bobs.pid}/kill`, "ann", { threadId: "bobs" });
  const absent = await call(`processes/${bobs.pid}/kill`, "ann", { threadId: "anns" });
  expect([refused.status, absent.status]).toEqual([404, 404]);
  expect((await call("processes", "bob")).body["processes"]).toMatchObject([{ state: "running" }]);
});

test("lists the processes of one workspace, and ends none of another", async () => {
  const storage = new InMemoryStorage();
  const agents = Object.fromEntries(
    ["left", "right"].map((name) => {
      const workingDirectory = mkdtempSync(join(tmpdir(), "processes-"));
      const sandbox = new LocalSandbox({ workingDirectory, isolation: "none", logger: false });
      // One with an id, one without.
      const id = name === "left" ? { id: name } : {};
      const workspace = new Workspace({ ...id, sandbox, tools: { [RUN]: { requireApproval: false } } });
      onTestFinished(async () => {
        await workspace.destroy();
        rmSync(workingDirectory, { recursive: true });
      });
      const input = { command: `sleep 600 # ${name}`, background: true };
      const model = scriptedModel([{ toolCalls: [{ toolName: RUN, input }] }, "Started."]);
      return [name, new Agent({ name, instructions: "", model, workspace, memory: new Memory() })];
    }),
  );
  const mastra = new Mastra({ agents, storage, logger: false });
  onTestFinished(() => mastra.close());
  for (const [name, agent] of Object.entries(agents))
    await agent.generate("Go.", { memory: { thread: name, resource: "ann" } });
  const [left, right] = await Promise.all(
    Object.values(agents).map(async (agent) => (await agent.getWorkspace())!),
  );
  const commands = async (workspace: Workspace) =>
    (await workspace.listProcesses()).map(({ command }) => command);
  expect(await commands(left!)).toEqual(["sleep 600 # left"]);
  expect(await commands(right!)).toEqual(["sleep 600 # right"]);
  const { pid } = (await right!.listProcesses())[0]!;
  await expect(left!.killProcess({ threadId: "right", pid })).rejects.toThrow("has no background process");
  expect(await right!.killProcess({ threadId: "right", pid })).toMatchObject({ state: "exited" });
});
