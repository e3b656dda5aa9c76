import { Agent } from "@selvedge/core/agent";
import { InMemoryStore } from "@selvedge/core/storage";
import type { Tool } from "@selvedge/core/tools";
import { Memory } from "@selvedge/memory";
import { describe, expect, it } from "vitest";
import { demoModel } from "./demo-model.ts";
import { calculator, createWriteNote } from "./demo-tools.ts";

async function answer(messages: Parameters<Agent["generate"]>[0], tools: Record<string, Tool> = {}) {
  const agent = new Agent({ name: "a", instructions: "", model: demoModel({ wordDelayMs: 0 }), tools });
  return agent.generate(messages);
}

describe("demoModel", () => {
  it("says what it is and what can be tried", async () => {
    const { text } = await answer("hello");
    expect(text).toMatch(/^I am a scripted demo model/);
    expect(text).toContain("**count to 8**");
  });

  it("calls tools that it was given, and no others", async () => {
    expect((await answer("what is 6 * 7?", { calculator })).text).toContain("6 * 7 = 42.");
    expect((await answer("what is 6 * 7?")).text).toBe(
      "I would call calculator now, but I do not have that tool.",
    );
  });

  it("leaves the decision about a note to a person", async () => {
    const run = await answer("note that it rains", { "write-note": createWriteNote("/nowhere/notes.md") });
    expect(run.finishReason).toBe("suspended");
  });

  it("tells of news, and takes what a lane says for something to know", async () => {
    const news = '<notification source="github" type="ci">CI failed.</notification>';
    expect((await answer(news)).text).toBe("News from **github**: CI failed.");
    const question = await answer(["what is 1 + 1?", "<state>The notes are: x</state>"], { calculator });
    expect(question.text).toContain("1 + 1 = 2.");
  });

  it("reads a message with a sender's name as what the sender said", async () => {
    expect((await answer('<user name="Ada">what is 2 + 3?</user>', { calculator })).text).toContain(
      "2 + 3 = 5.",
    );
  });

  it("names a thread by the first words of its first message", async () => {
    const storage = new InMemoryStore();
    const memory = new Memory({ storage, options: { threads: { generateTitle: true } } });
    const model = demoModel({ wordDelayMs: 0 });
    const agent = new Agent({ name: "a", instructions: "Help.", model, memory });
    await agent.generate(`what is ${"1 + ".repeat(40)}1?`, { memory: { thread: "t", resource: "r" } });
    const title = async () => (await memory.getThreadById({ threadId: "t" }))?.title;
    await expect.poll(title).toMatch(/^what is 1 \+ 1 .{20,40}$/);
  });

  it("writes labels for the demo workflow, another one for another order", async () => {
    const copywriter = new Agent({
      name: "c",
      instructions: "You write labels for cloth. Answer with one sentence.",
      model: demoModel({ wordDelayMs: 0 }),
    });
    const label = async (metres: number, cloth: string): Promise<string> =>
      (await copywriter.generate(`Write a label for ${metres} metres of ${cloth} cloth.`)).text;
    expect(await label(24, "indigo")).toMatch(/indigo/i);
    expect(await label(25, "indigo")).not.toBe(await label(24, "indigo"));
    expect(await label(24, "madder")).toMatch(/red/);
  });
});
