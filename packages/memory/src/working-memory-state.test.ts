import { Agent } from "@selvedge/core/agent";
import type { MemoryConfig } from "@selvedge/core/memory";
import { InMemoryStorage } from "@selvedge/core/storage";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Memory } from "./memory.ts";

const thread = { memory: { thread: "t", resource: "r" } };
const note = (memory: unknown) => ({ toolCalls: [{ toolName: "updateWorkingMemory", input: { memory } }] });
const TEMPLATE = `# Guest\n- Name:\n- City:\n${"- Other facts that may matter later:\n".repeat(3)}`;

function agentOf(script: Script, workingMemory: MemoryConfig["workingMemory"], lastMessages = 50) {
  const model = scriptedModel(script);
  const options = { lastMessages, workingMemory: { enabled: true, ...workingMemory } };
  const memory = new Memory({ storage: new InMemoryStorage(), options });
  const agent = new Agent({ name: "a", instructions: "Be brief.", model, memory });
  const prompts = () => model.calls.map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
  return { agent, model, memory, prompts };
}

describe("working memory as a state", () => {
  it("keeps everything before a change as it was, and tells the change in lines", async () => {
    const named = TEMPLATE.replace("Name:", "Name: Ada");
    const script = ["hi", note(named), "noted", "still there"];
    const { agent, prompts } = agentOf(script, { template: TEMPLATE, useStateSignals: true });
    for (const text of ["hello", "I am Ada", "and now?"]) await agent.generate(text, thread);
    const all = prompts();
    for (const [index, prompt] of all.entries())
      if (index > 0) expect(prompt.slice(0, all[index - 1]!.length)).toEqual(all[index - 1]);
    const told = all.at(-1)!.filter((message) => /^.{0,20}user.*<working-memory/.test(message));
    expect(told).toHaveLength(2);
    expect(told[0]).toContain("- Name:");
    expect(told[1]).toContain("+ - Name: Ada");
    expect(told[1]).not.toContain("City");
    expect(all[0]!.join()).toContain("updateWorkingMemory");
  });

  it("tells all of it again when the model has lost sight of it", async () => {
    const script = ["1", "2", "3", "4"];
    const { agent, prompts } = agentOf(script, { template: TEMPLATE, useStateSignals: true }, 2);
    for (const text of ["a", "b", "c", "d"]) await agent.generate(text, thread);
    for (const prompt of prompts()) expect(prompt.join()).toContain("- City:");
  });

  it("tells an object as a whole", async () => {
    const schema = z.object({ name: z.string(), city: z.string() });
    const script = ["hi", note({ name: "Ada" }), "noted"];
    const { agent, prompts } = agentOf(script, { schema, useStateSignals: true });
    for (const text of ["hello", "I am Ada"]) await agent.generate(text, thread);
    expect(
      prompts()
        .at(-1)!
        .findLast((message) => message.includes("<working-memory")),
    ).toContain("Ada");
  });

  it("is a system message for a run that only reads", async () => {
    const { agent, memory, prompts } = agentOf(["a"], { useStateSignals: true, template: TEMPLATE });
    await memory.createThread({ threadId: "t", resourceId: "r" });
    await agent.generate("go", { memory: { ...thread.memory, options: { readOnly: true } } });
    expect(prompts()[0]!.join()).toContain("<working_memory>");
  });
});

describe("working memory that the app keeps", () => {
  it.each([false, true])(
    "is shown without a tool and without instructions (as a state: %s)",
    async (useStateSignals) => {
      const { agent, model, memory, prompts } = agentOf(["a"], { agentManaged: false, useStateSignals });
      await memory.createThread({ threadId: "t", resourceId: "r" });
      await memory.updateWorkingMemory({ threadId: "t", resourceId: "r", workingMemory: "Likes tea." });
      await agent.generate("go", thread);
      expect(prompts()[0]!.join()).toContain("Likes tea.");
      expect(prompts()[0]!.join()).not.toContain("updateWorkingMemory");
      expect(model.calls[0]!.tools).toBeUndefined();
    },
  );

  it.each(["agentManaged", "useStateSignals"])("refuses %s that is not a boolean", (option) => {
    const workingMemory = { enabled: true, [option]: "yes" };
    expect(() => new Memory({ options: { workingMemory: workingMemory as never } })).toThrow(
      `workingMemory.${option} must be a boolean, got "yes"`,
    );
  });
});
