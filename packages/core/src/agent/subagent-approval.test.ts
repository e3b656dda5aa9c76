import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LibSQLStore } from "@selvedge/libsql";
import type { Script, ScriptedReply } from "@selvedge/testing";
import { Memory } from "@selvedge/memory";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { listRuns } from "../thread/inspect/thread-overview.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, chunksOf } from "./__fixtures__/agent-with.ts";
import { until } from "./__fixtures__/on-thread.ts";

const ask: ScriptedReply = { toolCalls: [{ toolName: "agent-helper", input: { prompt: "x" } }] };

describe.each(["none", "another store"])(
  "a subagent that cannot wait with its parent (memory: %s)",
  (which) => {
    const ran: string[] = [];
    const plain = createTool({ id: "plain", description: "", execute: async () => void ran.push("plain") });
    const tools = {
      plain,
      asks: createTool({
        id: "asks",
        description: "",
        requireApproval: true,
        execute: async () => void ran.push("asks"),
      }),
      suspends: createTool({
        id: "suspends",
        description: "",
        execute: async (_, { suspend }) => suspend({}),
      }),
    };

    async function run(toolName: string, options: object = {}) {
      ran.length = 0;
      const withMemory = which === "another store";
      const own = () => (withMemory ? { memory: new Memory({ storage: new InMemoryStorage() }) } : {});
      const calls = [
        { toolName: "plain", input: {} },
        { toolName, input: {} },
      ];
      const helper = agentWith([{ toolCalls: calls }, "never"], { tools, ...own(), defaultOptions: options });
      const { agent, model } = agentWith([ask, "done"], { agents: { helper: helper.agent }, ...own() });
      const output = await agent.stream("go", withMemory ? { memory: { thread: "t", resource: "r" } } : {});
      const chunks = await chunksOf(output);
      const waiting = [await agent.listSuspendedRuns(), await helper.agent.listSuspendedRuns()];
      return {
        text: await output.text,
        said: JSON.stringify(model.calls[1]!.prompt.at(-1)),
        suspended: waiting.map(({ total }) => total),
        nested: chunks.flatMap((chunk) =>
          chunk.type === "tool-output" ? [(chunk.payload.output as { type: string }).type] : [],
        ),
      };
    }

    it.each([
      ["asks", {}],
      ["plain", { requireToolApproval: true }],
    ])("is refused before any tool of the step runs: %s %o", async (toolName, options) => {
      const { text, said, suspended, nested } = await run(toolName, options);
      expect([text, suspended, ran]).toEqual(["done", [0, 0], []]);
      expect(said).toContain(`Tool \\"${toolName}\\" of agent \\"tester\\" needs approval`);
      expect(nested).not.toContain("tool-call-approval");
      expect(nested.at(-1)).toBe("error");
    });

    it("is refused when it suspends, and nothing is left waiting", async () => {
      const { text, said, suspended, nested } = await run("suspends");
      expect([text, suspended]).toEqual(["done", [0, 0]]);
      expect(said).toContain('Tool \\"suspends\\" of agent \\"tester\\" wants to suspend');
      expect(nested).not.toContain("tool-call-suspended");
    });
  },
);

describe("a subagent's run that another process goes on with", () => {
  it("does not wait for a person either", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-"));
    const stores = [1, 2].map(() => new LibSQLStore({ url: `file:${join(folder, "store.db")}` }));
    const asks = createTool({ id: "asks", description: "", requireApproval: true, execute: async () => 1 });
    const threads = { lease: { leaseMs: 100, renewMs: 60_000 } };
    const helper = (script: Script, storage: LibSQLStore) =>
      agentWith(script, { tools: { asks }, memory: new Memory({ storage }), threads });
    const hung = helper([{ hang: true }], stores[0]!);
    void hung.agent.streamAsTool("go", { memory: { thread: "t", resource: "r" } });
    await until(() => hung.model.calls.length === 1);
    const next = helper([{ toolCalls: [{ toolName: "asks", input: {} }] }], stores[1]!);
    await next.agent.recover();
    await until(() => next.model.calls.length === 1);
    const runs = async () => (await listRuns(stores[1]!, { threadId: "t" })).runs;
    await until(async () => (await runs())[0]!.state !== "running");
    expect(await runs()).toMatchObject([{ state: "failed", error: { code: "not-supported" } }]);
    for (const store of stores) await store.close();
    await rm(folder, { recursive: true });
  });
});
