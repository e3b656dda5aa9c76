import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import { Memory } from "@selvedge/memory";
import { describe, expect, it, onTestFinished } from "vitest";
import { createDemoAgent } from "./demo-agent.ts";
import { demoModel } from "./demo-model.ts";
import { demoObserver } from "./demo-observer.ts";

const ADDRESS = { thread: "t", resource: "r" };
const THREAD = { threadId: "t", resourceId: "r" };

describe("the memory of the demo agent", () => {
  it("turns messages into notes after a few turns", async () => {
    const folder = await mkdtemp(join(tmpdir(), "selvedge-demo-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const choice = { model: demoModel({ wordDelayMs: 0 }), name: "demo", why: "", scripted: true } as const;
    const storage = new InMemoryStore();
    const { agent, memory } = await createDemoAgent({
      choice,
      storage,
      notesFile: join(folder, "notes.md"),
      observesMs: 0,
    });
    for (let turn = 1; turn <= 6; turn++) {
      await agent.generate(`hello ${turn}`, { memory: ADDRESS });
      await memory.settled();
    }
    const { chunks } = await memory.observationalMemory!.inspect(THREAD);
    expect(chunks.filter(({ state }) => state === "active").length).toBeGreaterThan(0);
    expect(chunks[0]!.text).toContain('The user said: "hello 1"');
    await agent.close();
  });

  it("knows what was said first, long after it left the prompt and the notes were rewritten", async () => {
    const observer = demoObserver(0);
    const observationalMemory = {
      model: observer,
      observation: { messageTokens: 800 },
      reflection: { observationTokens: 500 },
    };
    const model = demoModel({ wordDelayMs: 0 });
    const memory = new Memory({
      storage: new InMemoryStore(),
      options: { lastMessages: 12, observationalMemory },
    });
    const agent = new Agent({ name: "a", instructions: "", model, memory });
    await agent.generate("My cat is called Loom.", { memory: ADDRESS });
    for (let turn = 1; turn <= 30; turn++) {
      await agent.generate(`hello ${turn}`, { memory: ADDRESS });
      await memory.settled();
    }
    const { generation, jobs } = await memory.observationalMemory!.inspect(THREAD);
    expect(generation).toBeGreaterThan(0);
    expect(jobs).toEqual([]);
    const { text } = await agent.generate("what did I say first?", { memory: ADDRESS });
    expect(text).toBe('The first thing you said was: "My cat is called Loom."');
    const prompt = model.calls.at(-1)!.prompt.filter(({ role }) => role !== "system");
    expect(JSON.stringify(prompt)).not.toContain("My cat is called Loom.");
    const { text: list } = await agent.generate("what did I say?", { memory: ADDRESS });
    expect(list).toContain("- hello 30\n- what did I say first?");
    await agent.close();
  });
});
