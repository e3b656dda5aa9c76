import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import type { Script, ScriptedCall } from "@selvedge/testing";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import type { Storage } from "../storage/storage.ts";
import { listRuns } from "../thread/inspect/thread-overview.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, chunksOf } from "./__fixtures__/agent-with.ts";
import { until } from "./__fixtures__/on-thread.ts";
import type { Agent } from "./agent.ts";

const ON = { memory: { thread: "t", resource: "r" } };
const HERE = { threadId: "t", resourceId: "r" };
const CHILD = { resourceId: "r/agent-helper" };
const says = ({ prompt }: ScriptedCall, words: string) => JSON.stringify(prompt).includes(words);
const calls = (toolName: string, toolCallId: string, input: object = {}) => ({
  toolCalls: [{ toolName, toolCallId, input }],
});

/** A parent that asks its helper, and a helper whose tools need somebody. */
function family(storage: Storage, ran: string[], helperScript?: Script, limits: { maxRuns?: number } = {}) {
  const tools = {
    danger: createTool({
      id: "danger",
      description: "",
      requireApproval: true,
      execute: async () => {
        ran.push("danger");
        return "boom";
      },
    }),
    ask: createTool({
      id: "ask",
      description: "",
      execute: async (_, { suspend, resumeData }) =>
        resumeData === undefined ? suspend({ question: "Colour?" }) : `It is ${JSON.stringify(resumeData)}`,
    }),
  };
  const memory = () => new Memory({ storage });
  const threads = { lease: { leaseMs: 200, renewMs: 50 }, ...limits };
  const script: Script =
    helperScript ??
    ((asked) => (says(asked, "boom") || says(asked, "Denied") ? "It exploded." : calls("danger", "x1")));
  const helper = agentWith(script, { name: "helper", tools, memory: memory(), threads });
  const parent = agentWith(
    (asked) =>
      says(asked, "subAgentThreadId") ? "All done." : calls("agent-helper", "d1", { prompt: "Help" }),
    { name: "parent", agents: { helper: helper.agent }, memory: memory(), threads },
  );
  return { parent: parent.agent, helper: helper.agent, parentModel: parent.model, helperModel: helper.model };
}

async function start(parent: Agent) {
  const output = await parent.stream("Go", ON);
  return chunksOf(output);
}

const runsOf = async (storage: Storage, threadId: string) => (await listRuns(storage, { threadId })).runs;
const isOver = (storage: Storage) => async () =>
  (await runsOf(storage, "t"))[0]?.state !== "suspended" &&
  (await runsOf(storage, "t"))[0]?.state !== "running";

describe("a subagent that needs a person", () => {
  let storage: InMemoryStorage;
  let ran: string[];
  beforeEach(() => {
    storage = new InMemoryStorage();
    ran = [];
  });

  it("asks at its parent, and both wait in the store", async () => {
    const { parent, helper } = family(storage, ran);
    const chunks = await start(parent);
    expect(chunks.at(-1)).toMatchObject({ type: "finish", payload: { stepResult: { reason: "suspended" } } });
    expect((await parent.listSuspendedRuns()).runs).toMatchObject([
      { threadId: "t", toolCalls: [{ toolCallId: "x1", toolName: "danger", parentToolCallId: "d1" }] },
    ]);
    expect((await helper.listSuspendedRuns()).runs).toMatchObject([
      { ...CHILD, toolCalls: [{ toolCallId: "x1" }] },
    ]);
    expect(ran).toEqual([]);
  });

  it("goes on with the answer that its parent is given, and its parent with it", async () => {
    const { parent, parentModel } = family(storage, ran);
    await start(parent);
    await parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: true });
    await until(isOver(storage));
    expect(ran).toEqual(["danger"]);
    expect(parentModel.calls).toHaveLength(2);
    expect(JSON.stringify(parentModel.calls[1]!.prompt)).toContain("It exploded.");
    expect(JSON.stringify(parentModel.calls[1]!.prompt)).toContain("boom");
    expect((await parent.listSuspendedRuns()).total).toBe(0);
  });

  it("needs no id where it alone asks, and gives the rest of the parent's run as a stream", async () => {
    const { parent } = family(storage, ran);
    await start(parent);
    const [run] = (await parent.listSuspendedRuns()).runs;
    const output = await parent.approveToolCall({ runId: run!.runId });
    const chunks = await chunksOf(output);
    expect(await output.text).toBe("All done.");
    const nested = chunks.flatMap((chunk) =>
      chunk.type === "tool-output" ? [(chunk.payload.output as { type: string }).type] : [],
    );
    expect(nested).toContain("tool-result");
    expect(nested.filter((type) => type === "finish")).toHaveLength(1);
    expect(ran).toEqual(["danger"]);
  });

  it("goes on where its parent has the only place of the process", async () => {
    const { parent } = family(storage, ran, undefined, { maxRuns: 1 });
    await start(parent);
    await parent.sendToolApproval({ ...HERE, approved: true });
    await until(isOver(storage));
    expect(ran).toEqual(["danger"]);
  });

  it("is told no", async () => {
    const { parent, helperModel } = family(storage, ran, (asked) =>
      says(asked, "not-now") ? "I could not." : calls("danger", "x1"),
    );
    await start(parent);
    const declineContext = { reason: "not-now" };
    await parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: false, declineContext });
    await until(isOver(storage));
    expect(ran).toEqual([]);
    expect(helperModel.calls).toHaveLength(2);
  });

  it("gets answers to questions, one after the other", async () => {
    const { parent, parentModel } = family(storage, ran, (asked) =>
      says(asked, "blue")
        ? says(asked, "boom")
          ? "Blue and boom."
          : calls("danger", "x1")
        : calls("ask", "q1"),
    );
    await start(parent);
    await expect(
      parent.sendToolApproval({ ...HERE, toolCallId: "d1", approved: true }),
    ).rejects.toMatchObject({ code: "invalid-argument", message: expect.stringContaining("q1") });
    await parent.sendToolApproval({ ...HERE, toolCallId: "q1", approved: true, resumeData: "blue" });
    const asked = async () =>
      (await parent.listSuspendedRuns()).runs[0]?.toolCalls.map((call) => call.toolCallId);
    await until(async () => (await asked())?.[0] === "x1");
    await parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: true });
    await until(isOver(storage));
    expect(JSON.stringify(parentModel.calls.at(-1)!.prompt)).toContain("Blue and boom.");
    expect(ran).toEqual(["danger"]);
  });

  it("is answered once, and not by a resource that the parent's thread does not belong to", async () => {
    const { parent } = family(storage, ran);
    await start(parent);
    const foreign = { threadId: "t", resourceId: "other", toolCallId: "x1", approved: true };
    await expect(parent.sendToolApproval(foreign)).rejects.toMatchObject({ code: "not-found" });
    const answer = () => parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: true });
    const answers = await Promise.allSettled([answer(), answer()]);
    expect(answers.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await until(isOver(storage));
    expect(ran).toEqual(["danger"]);
  });

  it("ends with a parent that is aborted or whose call is declined", async () => {
    for (const end of ["abort", "decline"]) {
      storage = new InMemoryStorage();
      const { parent, helper } = family(storage, ran);
      await start(parent);
      if (end === "abort") (await parent.subscribeToThread(HERE)).abort();
      else await parent.sendToolApproval({ ...HERE, toolCallId: "d1", approved: false });
      await until(async () => (await helper.listSuspendedRuns()).total === 0);
      await until(isOver(storage));
      expect((await parent.listSuspendedRuns()).total).toBe(0);
    }
    expect(ran).toEqual([]);
  });

  it("may have subagents that ask in turn", async () => {
    const memory = new Memory({ storage });
    const danger = createTool({
      id: "danger",
      description: "",
      requireApproval: true,
      execute: async () => void ran.push("danger"),
    });
    const script =
      (call: object): Script =>
      (asked) =>
        says(asked, "tool-result") ? "Done." : (call as never);
    const grandchild = agentWith(script(calls("danger", "x1")), { name: "c", memory, tools: { danger } });
    const child = agentWith(script(calls("agent-c", "c1", { prompt: "Go" })), {
      name: "b",
      memory,
      agents: { c: grandchild.agent },
    });
    const { agent } = agentWith(script(calls("agent-b", "b1", { prompt: "Go" })), {
      name: "a",
      memory,
      agents: { b: child.agent },
    });
    await chunksOf(await agent.stream("Go", ON));
    expect((await agent.listSuspendedRuns()).runs).toMatchObject([
      { toolCalls: [{ toolCallId: "x1", parentToolCallId: "b1" }] },
    ]);
    await agent.sendToolApproval({ ...HERE, approved: true });
    await until(isOver(storage));
    expect(ran).toEqual(["danger"]);
    for (const one of [agent, child.agent, grandchild.agent])
      expect((await one.listSuspendedRuns()).total).toBe(0);
  });

  it("works on a thread that lists do not show", async () => {
    const { parent } = family(storage, ran);
    await start(parent);
    const domain = (await storage.getStore("memory"))!;
    const { threads } = await domain.listThreads({});
    expect(threads.map(({ id }) => id)).toEqual(["t"]);
    const all = await domain.listThreads({ includeSubagents: true });
    expect(all.threads.map(({ metadata }) => metadata?.["parentThreadId"])).toContain("t");
  });
});

describe("a subagent in several processes", () => {
  let folder: string;
  let stores: LibSQLStore[];
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "selvedge-"));
    stores = [1, 2].map(() => new LibSQLStore({ url: `file:${join(folder, "store.db")}` }));
  });
  afterEach(async () => {
    for (const store of stores) await store.close();
    rmSync(folder, { recursive: true });
  });

  it("is answered in another process, which carries out both to the end", async () => {
    const ran: string[] = [];
    const first = family(stores[0]!, ran);
    await start(first.parent);
    await first.parent.close();
    await first.helper.close();
    const second = family(stores[1]!, ran);
    await second.parent.sendToolApproval({ ...HERE, toolCallId: "x1", approved: true });
    await until(isOver(stores[1]!));
    expect(ran).toEqual(["danger"]);
    expect([first.helperModel.calls.length, second.helperModel.calls.length]).toEqual([1, 1]);
    expect(JSON.stringify(second.parentModel.calls.at(-1)!.prompt)).toContain("It exploded.");
  });

  it("is found again by the call of a parent whose process is gone, and is not begun twice", async () => {
    const ran: string[] = [];
    const first = family(stores[0]!, ran, [{ hang: true }]);
    void first.parent.stream("Go", ON);
    await until(() => first.helperModel.calls.length === 1);
    // Its process is gone without a word.
    await stores[0]!.close();
    // Without its lease a later look would find it all the same, only after half a minute.
    await new Promise((resolve) => setTimeout(resolve, 400));
    const second = family(stores[1]!, ran, ["I helped."]);
    await second.parent.recover();
    await until(async () => (await runsOf(stores[1]!, "t"))[0]?.state === "done");
    expect(JSON.stringify(second.parentModel.calls.at(-1)!.prompt)).toContain("I helped.");
    expect(second.helperModel.calls).toHaveLength(1);
    const child = (await runsOf(stores[1]!, "t"))[0]!;
    expect(await runsOf(stores[1]!, `${child.runId}-d1`)).toHaveLength(1);
  });
});
