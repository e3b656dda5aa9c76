import { describe, expect, it } from "vitest";
import { Memory } from "@selvedge/memory";
import type { Script, ScriptedReply } from "@selvedge/testing";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { gate, HERE, ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import type { Agent } from "../agent/agent.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";

const calls: ScriptedReply = { toolCalls: [{ toolName: "t", input: {} }] };
const refusal = {
  code: "thread-busy",
  message: expect.stringContaining("t1"),
  details: { runId: expect.any(String) },
};

/** An agent whose tool does something with the agent itself. */
function withTool(work: (agent: Agent) => unknown, script: Script = [calls, "done"]) {
  const outcome: { value?: unknown; error?: unknown } = {};
  const t = createTool({
    id: "t",
    description: "",
    execute: async () => {
      try {
        outcome.value = await work(world.agent);
      } catch (error) {
        outcome.error = error;
      }
      return "ok";
    },
  });
  const world = onThread(script, { tools: { t } });
  return { ...world, outcome };
}

describe("a tool", () => {
  it.each(["generate", "stream"] as const)(
    "that calls %s() on its own thread is refused at once",
    async (how) => {
      const script = [calls, "done", "more"];
      const { agent, outcome } = withTool((self) => self[how]("again", ON), script);
      expect((await agent.generate("go", ON)).text).toBe("done");
      expect(outcome.error).toMatchObject(refusal);
      expect((await agent.generate("go", ON)).finishReason).not.toBe("error");
    },
  );

  it("is refused after it has waited for something else, and however its run was opened", async () => {
    const { agent, outcome, idle } = withTool(async (self) => {
      await new Promise((resolve) => setTimeout(resolve, 5));
      return self.generate("again", ON);
    });
    await agent.sendMessage("go", HERE).admitted;
    await idle();
    expect(outcome.error).toMatchObject(refusal);
  });

  it("is refused through a subagent, and through another thread", async () => {
    const outer: { agent?: Agent } = {};
    let error: unknown;
    const back = createTool({
      id: "t",
      description: "",
      execute: async () => outer.agent!.generate("again", ON).catch((thrown: unknown) => (error = thrown)),
    });
    const helper = agentWith([calls, "done"], { tools: { t: back } }).agent;
    const world = onThread([{ toolCalls: [{ toolName: "agent-helper", input: { prompt: "x" } }] }, "done"], {
      agents: { helper },
    });
    outer.agent = world.agent;
    expect((await world.agent.generate("go", ON)).text).toBe("done");
    expect(error).toMatchObject(refusal);

    let inner: unknown;
    const twice = withTool(
      async (self) => {
        const thread = { memory: { thread: "t2", resource: "r1" } };
        const { toolResults } = await self.generate("on another", thread);
        inner = toolResults;
      },
      [calls, calls, "done", "done"],
    );
    await twice.agent.generate("go", ON);
    expect(inner).toMatchObject([{ result: "ok" }]);
    expect(twice.outcome.error).toMatchObject({
      code: "thread-busy",
      message: expect.stringContaining("t2"),
    });
  });

  it("may send to its own thread, read it, and run on others", async () => {
    const { agent, outcome, idle, history } = withTool(
      async (self) => {
        await self.sendMessage("a signal", HERE).admitted;
        await self.queueMessage("later", HERE).admitted;
        const other = await self.generate("x", { memory: { thread: "t2", resource: "r1" } });
        const read = await self.generate("y", { memory: { ...ON.memory, readOnly: true } });
        const none = await self.generate("z");
        return [other.text, read.text, none.text];
      },
      [calls, "other", "read", "none", "done", "after"],
    );
    await agent.generate("go", ON);
    await idle();
    expect(outcome).toEqual({ value: ["other", "read", "none"] });
    expect((await history()).at(-1)).toBe("assistant: after");
  });

  it("may run on a thread of that name in another store", async () => {
    const other = onThread(["from elsewhere"], { storage: new InMemoryStorage() });
    const { agent, outcome } = withTool(async () => (await other.agent.generate("x", ON)).text);
    await agent.generate("go", ON);
    expect(outcome).toEqual({ value: "from elsewhere" });
  });

  it("does not hand its place on to a run that it only sent a message to", async () => {
    // Nobody waits for the run that the message opens, so that one may wait for this one.
    const waits = gate();
    let answer: Promise<string> | undefined;
    let tools = 0;
    const { agent, outcome, idle } = withTool(
      async (self) => {
        if (++tools === 1) {
          await self.sendMessage("go", { threadId: "t2", resourceId: "r1" }).admitted;
          return waits.opened;
        }
        answer = self.generate("now", ON).then(({ text }) => text);
        answer.catch(() => {});
        setTimeout(waits.open, 5);
        return answer;
      },
      ({ prompt }) => {
        const { role, content } = prompt.at(-1)!;
        if (role === "tool") return "done";
        return JSON.stringify(content).includes("now") ? "answered" : calls;
      },
    );
    await agent.generate("go", ON);
    await idle("t2");
    expect([await answer, outcome.error]).toEqual(["answered", undefined]);
  });
});

describe("a processor", () => {
  it.each([
    ["its last", ["one", "two"]],
    ["a question's last", [calls, "two"]],
  ] as [string, Script][])("is refused at %s chunk, while its run holds the thread", async (_, script) => {
    let error: unknown;
    const t = createTool({ id: "t", description: "", requireApproval: true, execute: async () => 1 });
    const { agent } = onThread(script, {
      tools: { t },
      outputProcessors: [
        {
          id: "p",
          processOutputStream: async ({ part }) => {
            if (part.type === "finish")
              error = await agent.generate("more", { ...ON, outputProcessors: [] }).catch((thrown) => thrown);
          },
        },
      ],
    });
    await agent.generate("go", ON);
    expect(error).toMatchObject(refusal);
  });
});

describe("a callback", () => {
  it("may go on with the thread when the run is over", async () => {
    let after: string | undefined;
    const { agent } = onThread(["one", "two"]);
    await agent.generate("go", {
      ...ON,
      onFinish: async () => void (after = (await agent.generate("more", ON)).text),
    });
    expect(after).toBe("two");
  });

  it("is refused while the run waits for it", async () => {
    let error: unknown;
    const memory = new Memory({ storage: new InMemoryStorage() });
    const { agent } = agentWith(["one", "two"], { memory });
    await agent.generate("go", {
      ...ON,
      onStepFinish: async () => agent.generate("more", ON).catch((thrown: unknown) => (error = thrown)),
    });
    expect(error).toMatchObject(refusal);
  });
});
