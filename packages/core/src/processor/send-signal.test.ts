import { describe, expect, it } from "vitest";
import { chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { HERE, ON, onThread } from "../agent/__fixtures__/on-thread.ts";
import { createTool } from "../tool/tool.ts";
import { AgentsMdReminder } from "./agents-md-reminder.ts";
import type { Processor } from "./processor.ts";

const look = createTool({ id: "look", description: "looks", execute: async () => "seen" });
const SCRIPT = [{ text: "let me see", toolCalls: [{ toolName: "look", input: {} }] }, "done"];

/** A processor that sends one signal from one hook. */
function sender(hook: keyof Processor): Processor {
  let sent = false;
  return {
    id: "sender",
    [hook]: async ({ sendSignal, part }: { sendSignal: any; part?: { type: string } }) => {
      if (sent || (part && part.type !== "text-delta")) return part;
      sent = true;
      const signal = await sendSignal({ type: "reactive", contents: "mind this", attributes: { by: hook } });
      expect(signal).toMatchObject({ type: "reactive", tagName: "system-reminder", id: expect.any(String) });
      return part;
    },
  } as Processor;
}

describe("sendSignal of a processor", () => {
  it.each([
    ["processInput", ["user: go", "signal: mind this", "assistant: let me see|[look result]|done"], 0],
    ["processInputStep", ["user: go", "signal: mind this", "assistant: let me see|[look result]|done"], 0],
    ["processLLMRequest", ["user: go", "signal: mind this", "assistant: let me see|[look result]|done"], 1],
    [
      "processOutputStream",
      ["user: go", "assistant: let me see|[look result]", "signal: mind this", "assistant: done"],
      1,
    ],
    [
      "processLLMResponse",
      ["user: go", "assistant: let me see|[look result]", "signal: mind this", "assistant: done"],
      1,
    ],
    [
      "processOutputStep",
      ["user: go", "assistant: let me see|[look result]", "signal: mind this", "assistant: done"],
      1,
    ],
    [
      "processToolResult",
      ["user: go", "assistant: let me see|[look result]", "signal: mind this", "assistant: done"],
      1,
    ],
    [
      "processOutputResult",
      ["user: go", "assistant: let me see|[look result]|done", "signal: mind this"],
      undefined,
    ],
  ] as const)(
    "from %s is in the history, on the stream and before the model, in one order",
    async (hook, expected, seenBy) => {
      const processor = sender(hook);
      const { agent, history, asked, model } = onThread(SCRIPT, {
        tools: { look },
        inputProcessors: [processor],
        outputProcessors: [processor],
      });
      const output = await agent.stream("go", ON);
      const chunks = await chunksOf(output);
      expect(chunks.filter((chunk) => chunk.type === "error")).toEqual([]);
      expect(await history()).toEqual(expected);
      const echo = chunks.filter((chunk) => chunk.type === "data-signal");
      expect(echo).toHaveLength(1);
      const text = chunks.findIndex((chunk) => chunk.type === "text-delta");
      const before =
        expected.indexOf("signal: mind this" as never) <
        expected.findIndex((line) => line.startsWith("assistant"));
      expect(chunks.indexOf(echo[0]!) < text).toBe(before);
      expect(await output.text).toContain("done");
      expect(model.calls).toHaveLength(2);
      const reminder = `user: <system-reminder by="${hook}">mind this</system-reminder>`;
      if (seenBy !== undefined) expect(asked(seenBy)).toContain(reminder);
      expect(asked(1).filter((line) => line.startsWith("tool"))).toHaveLength(1);
      await agent.generate("again", ON).catch(() => {});
    },
  );

  it("that ends with the run is there for the next one", async () => {
    const { agent, asked, history, idle } = onThread(["one", "two"], {
      outputProcessors: [sender("processOutputResult")],
    });
    await agent.sendMessage("a", HERE).admitted;
    await idle();
    await agent.sendMessage("b", HERE).admitted;
    await idle();
    expect(await history()).toEqual([
      "signal: a",
      "assistant: one",
      "signal: mind this",
      "signal: b",
      "assistant: two",
    ]);
    expect(asked(1)).toEqual([
      "user: a",
      "assistant: one",
      'user: <system-reminder by="processOutputResult">mind this</system-reminder>',
      "user: b",
    ]);
  });
});

describe("sendSignal of a processor that turns a step down", () => {
  const critic = (retry: boolean): Processor => {
    let said = false;
    return {
      id: "critic",
      processOutputStep: async ({ sendSignal, abort }) => {
        if (said) return;
        said = true;
        await sendSignal({ type: "reactive", contents: "be kind" });
        abort("rude", { retry });
      },
    };
  };

  it("is read by the model when it tries again", async () => {
    const { agent, asked, history } = onThread(["rude", "kind"], {
      outputProcessors: [critic(true)],
      maxProcessorRetries: 1,
    });
    expect((await agent.generate("hi", ON)).text).toBe("kind");
    expect(asked(1)).toContain("user: <system-reminder>be kind</system-reminder>");
    expect(await history()).toEqual(["user: hi", "signal: be kind", "assistant: kind"]);
  });

  it("stays when the run ends there", async () => {
    const { agent, history, idle } = onThread(["rude"], { outputProcessors: [critic(false)] });
    await agent.sendMessage("hi", HERE).admitted;
    await idle();
    expect(await history()).toContain("signal: be kind");
  });
});

describe("AgentsMdReminder on a thread", () => {
  it("stores its reminder as a signal, once for a path", async () => {
    const read = createTool({ id: "read", description: "reads", execute: async () => "Use tabs." });
    const calls = [{ toolName: "read", input: { path: "src/AGENTS.md" } }];
    const { agent, history, asked } = onThread([{ toolCalls: calls }, { toolCalls: calls }, "ok", "later"], {
      tools: { read },
      inputProcessors: [new AgentsMdReminder()],
    });
    const chunks = await chunksOf(await agent.stream("go", ON));
    expect(chunks.filter((chunk) => chunk.type === "data-signal")).toHaveLength(1);
    await agent.generate("again", ON);
    expect(await history()).toEqual([
      "user: go",
      "assistant: [read result]",
      "signal: Use tabs.",
      "assistant: [read result]|ok",
      "user: again",
      "assistant: later",
    ]);
    expect(asked(1)).toContain(
      'user: <system-reminder type="dynamic-agents-md" path="src/AGENTS.md">Use tabs.</system-reminder>',
    );
    expect(asked(3).filter((line) => line.includes("Use tabs."))).toHaveLength(1);
  });
});
