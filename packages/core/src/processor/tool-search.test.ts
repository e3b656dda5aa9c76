import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { ToolSearchProcessor, type ToolSearchOptions } from "./tool-search.ts";

const toolOf = (id: string, description: string, more = {}) =>
  createTool({ id, description, execute: async () => `${id} ran`, ...more });
const tools = {
  sendEmail: toolOf("sendEmail", "Sends an email to a person."),
  readCalendar: toolOf("readCalendar", "Reads the events of a day from the calendar."),
  deleteFile: toolOf("deleteFile", "Deletes a file.", { requireApproval: true }),
};
const call = (toolName: string, input: object) => ({ toolCalls: [{ toolName, input }] });
const thread = { memory: { thread: "t", resource: "r" } };
const searching = (
  script: never[],
  options: Partial<ToolSearchOptions> = {},
  storage = new InMemoryStorage(),
) => {
  const processor = new ToolSearchProcessor({ tools, ...options });
  const own = toolOf("own", "The agent's own tool about email.");
  const made = agentWith(script, {
    tools: { own },
    inputProcessors: [processor],
    memory: bareMemory(storage),
  });
  const offered = () => made.model.calls.map((one) => one.tools?.map(({ name }) => name) ?? []);
  return { ...made, processor, offered };
};
const BASE = ["own", "search_tools", "load_tool"];

describe("ToolSearchProcessor", () => {
  it("finds tools, loads them, and offers them from the next step on, in the order of loading", async () => {
    const script = [
      call("search_tools", { query: "read my calendar events" }),
      call("load_tool", { toolName: ["readCalendar", "sendEmail"] }),
      call("sendEmail", {}),
      "done",
    ];
    const { agent, offered } = searching(script as never);
    const { toolResults, text } = await agent.generate("go", thread);
    expect(text).toBe("done");
    expect(toolResults[0]).toMatchObject({ result: { results: [{ name: "readCalendar" }] } });
    expect(toolResults[2]).toMatchObject({ result: "sendEmail ran" });
    expect(offered()).toEqual([
      BASE,
      BASE,
      ...Array.from({ length: 2 }, () => [...BASE, "readCalendar", "sendEmail"]),
    ]);
  });

  it("keeps what is loaded for the thread, in another process too, and for no other thread", async () => {
    const storage = new InMemoryStorage();
    await searching(
      [call("load_tool", { toolName: "sendEmail" }), "ok"] as never,
      {},
      storage,
    ).agent.generate("go", thread);
    const other = searching(["a", "b"] as never, { storage: "context" }, storage);
    await other.agent.generate("go", thread);
    await other.agent.generate("go", { memory: { thread: "t2", resource: "r" } });
    expect(other.offered()).toEqual([[...BASE, "sendEmail"], BASE]);
  });

  it("finds a loaded tool again after a person approved its call", async () => {
    const storage = new InMemoryStorage();
    const script = [call("load_tool", { toolName: "deleteFile" }), call("deleteFile", {}), "deleted"];
    const { agent } = searching(script as never, {}, storage);
    const output = await agent.generate("go", thread);
    expect(output.finishReason).toBe("suspended");
    const resumed = await agent.approveToolCall({ runId: output.runId, ...thread });
    for await (const _ of resumed.fullStream);
    expect(await resumed.text).toBe("deleted");
    expect(JSON.stringify(await resumed.steps)).not.toContain("tool-not-found");
  });

  it("loads what it finds with `autoLoad`, at most `topK`, from `minScore` on", async () => {
    const script = [call("search_tools", { query: "calendar email file" }), "ok"];
    const all = searching(script as never, { search: { autoLoad: true, topK: 2 } });
    await all.agent.generate("go", thread);
    expect(all.offered()[1]).toHaveLength(BASE.length + 2);
    const none = searching(script as never, { search: { autoLoad: true, minScore: 1000 } });
    await none.agent.generate("go", thread);
    expect(none.offered()[1]).toEqual(BASE);
  });

  it("searches the agent's own tools with `includeResolvedTools`", async () => {
    const script = [call("load_tool", { toolName: "own" }), "ok"];
    const { agent, offered } = searching(script as never, { includeResolvedTools: true });
    await agent.generate("go", thread);
    expect(offered()).toEqual([BASE.slice(1), [...BASE.slice(1), "own"]]);
  });

  it("hides tools by a filter, which may throw, and says so for unknown names", async () => {
    const phases = new Set<string>();
    const filter: ToolSearchOptions["filter"] = ({ toolName, phase }) => {
      phases.add(phase);
      if (toolName === "sendEmail") throw new Error("no");
      return toolName !== "deleteFile";
    };
    const script = [
      call("search_tools", { query: "send an email, delete a file, read the calendar" }),
      call("load_tool", { toolName: ["sendEmail", "deleteFile", "constructor", "readCalendar"] }),
      "ok",
    ];
    const { agent, offered } = searching(script as never, { filter });
    const { toolResults } = await agent.generate("go", thread);
    expect(toolResults[1]).toMatchObject({
      result: { loaded: ["readCalendar"], unknown: ["sendEmail", "deleteFile", "constructor"] },
    });
    expect(offered()[2]).toEqual([...BASE, "readCalendar"]);
    expect([...phases].sort()).toEqual(["active", "load", "search"]);
  });

  it("works without a thread, for the run", async () => {
    const { agent, model } = agentWith([call("load_tool", { toolName: "sendEmail" }), "ok"], {
      inputProcessors: [new ToolSearchProcessor({ tools })],
    });
    await agent.generate("go");
    expect(model.calls[1]!.tools!.map(({ name }) => name)).toEqual([...BASE.slice(1), "sendEmail"]);
  });

  it("forgets after `ttl` without use, and when told to", async () => {
    const system = virtualSystem();
    const value: { now: unknown } = { now: undefined };
    const threadState = {
      get: async () => value.now,
      update: async (_: string, change: (old: unknown) => unknown) => (value.now = change(value.now)),
    };
    const processor = new ToolSearchProcessor({ tools, ttl: 1000 });
    const step = async () => {
      const args = { state: {}, tools: {}, threadId: "t", threadState, system };
      const { tools: given } = await processor.processInputStep(args as never);
      return Object.keys(given!).slice(2);
    };
    value.now = { names: ["sendEmail"], usedAt: system.now() };
    expect(await step()).toEqual(["sendEmail"]);
    await system.advance(900);
    expect(await step()).toEqual(["sendEmail"]);
    await system.advance(900);
    expect(await step()).toEqual(["sendEmail"]);
    await system.advance(1100);
    expect(await step()).toEqual([]);
    expect(processor.getStateStats()).toEqual({ threadCount: 1, oldestAccessTime: system.now() });
    expect([processor.cleanupNow(system.now()), processor.cleanupNow(system.now() + 2000)]).toEqual([0, 1]);
    value.now = { names: ["sendEmail"], usedAt: system.now() };
    await step();
    await processor.clearAllState();
    expect(await step()).toEqual([]);
  });

  it.each([
    ["tools", { tools: undefined }],
    ["search.topK", { search: { topK: 0 } }],
    ["search.minScore", { search: { minScore: -1 } }],
    ["storage", { storage: "disk" }],
    ["ttl", { ttl: -1 }],
    ["filter", { filter: 1 }],
  ])("refuses a wrong %s", (option, options) => {
    expect(() => new ToolSearchProcessor({ tools, ...options } as never)).toThrow(`\`${option}\``);
  });
});
