import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../agent/agent.ts";
import { gate, HERE, ON, onThread, until } from "../../agent/__fixtures__/on-thread.ts";
import { MAILBOX } from "../../storage/thread-tables.ts";
import { realSystem } from "../../system.ts";
import { createTool } from "../../tool/tool.ts";

const on = (thread: string) => ({ memory: { thread, resource: HERE.resourceId } });
const to = (threadId: string) => ({ ...HERE, threadId });
/** Long enough for a run that does not have to wait to ask its model. */
const aMoment = () => new Promise((resolve) => setTimeout(resolve, 50));

/** An agent whose model answers when told to, and says whose turn it is. */
function held(maxRuns: number, config: Partial<ConstructorParameters<typeof Agent>[0]> = {}) {
  const asked: string[] = [];
  const gates: ReturnType<typeof gate>[] = [];
  const made = onThread(
    async ({ prompt }) => {
      asked.push(JSON.stringify(prompt.at(-1)!.content).match(/to (\w+)/)![1]!);
      const turn = gate();
      gates.push(turn);
      await turn.opened;
      return "ok";
    },
    { threads: { maxRuns }, ...config },
  );
  /** Lets the oldest run end. */
  const answer = () => gates.shift()!.open();
  return { ...made, asked, answer, gates };
}

describe("threads.maxRuns", () => {
  it("keeps messages in the mailbox while that many runs are under way, and then takes them in turn", async () => {
    const { agent, asked, answer, storage, idle } = held(2);
    for (const id of ["a", "b", "c", "d"]) await agent.sendMessage(`to ${id}`, to(id)).admitted;
    await until(() => asked.length === 2);
    await aMoment();
    expect(asked).toEqual(["a", "b"]);
    expect(await storage.count({ table: MAILBOX })).toBe(2);
    answer();
    await until(() => asked.length === 3);
    answer();
    await until(() => asked.length === 4);
    expect(asked).toEqual(["a", "b", "c", "d"]);
    answer();
    answer();
    for (const id of ["a", "b", "c", "d"]) await idle(id);
  });

  it("lets callers of stream() wait in line with messages", async () => {
    const { agent, asked, answer } = held(1);
    const first = await agent.stream("to a", on("a"));
    await until(() => asked.length === 1);
    await agent.sendMessage("to b", to("b")).admitted;
    const third = await agent.stream("to c", on("c"));
    await aMoment();
    expect(asked).toEqual(["a"]);
    answer();
    expect(await first.text).toBe("ok");
    await until(() => asked.length === 2);
    answer();
    await until(() => asked.length === 3);
    answer();
    expect(await third.text).toBe("ok");
    expect(asked).toEqual(["a", "b", "c"]);
  });

  it("lets a thread with many messages take its turns among the others", async () => {
    const { agent, asked, answer, idle } = held(1);
    await agent.sendMessage("to a", to("a")).admitted;
    await until(() => asked.length === 1);
    await agent.queueMessage("to a", to("a")).admitted;
    await agent.queueMessage("to a", to("a")).admitted;
    await agent.sendMessage("to b", to("b")).admitted;
    for (let turn = 2; turn <= 4; turn++) {
      answer();
      await until(() => asked.length === turn);
    }
    answer();
    await idle("a");
    expect(asked).toEqual(["a", "b", "a", "a"]);
  });

  it("gives the place of a caller who left the line to the next one", async () => {
    const { agent, asked, answer } = held(1);
    const first = await agent.stream("to a", on("a"));
    await until(() => asked.length === 1);
    const leaving = new AbortController();
    const left = await agent.stream("to b", { ...on("b"), abortSignal: leaving.signal });
    const last = await agent.stream("to c", on("c"));
    leaving.abort();
    expect(await left.finishReason).toBe("aborted");
    answer();
    await first.text;
    await until(() => asked.length === 2);
    answer();
    expect(await last.text).toBe("ok");
    expect(asked).toEqual(["a", "c"]);
  });

  it("does not count a run that a run waits for", async () => {
    const storage = new InMemoryStorage();
    const inner = onThread(["from within"], { storage, name: "inner", description: "Knows." });
    const outer = onThread(
      [{ toolCalls: [{ toolName: "agent-inner", input: { prompt: "well?" } }] }, "done"],
      {
        storage,
        agents: { inner: inner.agent },
        threads: { maxRuns: 1 },
      },
    );
    expect((await outer.agent.generate("go", ON)).text).toBe("done");
    expect(inner.model.calls).toHaveLength(1);
  });

  it("lets what waits before such a run begin without a place, too", async () => {
    const storage = new InMemoryStorage();
    const inner = onThread(["to the message", "to the tool"], { storage, name: "inner" });
    const ask = createTool({
      id: "ask",
      description: "Asks.",
      inputSchema: { type: "object" },
      execute: async () => {
        await inner.agent.sendMessage("first", to("within")).admitted;
        return (await inner.agent.generate("second", on("within"))).text;
      },
    });
    const outer = onThread([{ toolCalls: [{ toolName: "ask", input: {} }] }, "done"], {
      storage,
      tools: { ask },
      threads: { maxRuns: 1 },
    });
    const { text, toolResults } = await outer.agent.generate("go", ON);
    expect([text, toolResults[0]!.result]).toEqual(["done", "to the tool"]);
  });

  it("lets who answered a call wait in line for its run", async () => {
    // Ten seconds are a fifth of one.
    const system = {
      ...realSystem,
      setTimer: (ms: number, callback: () => void, options?: { background?: boolean }) =>
        realSystem.setTimer(ms / 50, callback, options),
    };
    const turn = gate();
    const danger = createTool({
      id: "danger",
      description: "Asks first.",
      requireApproval: true,
      execute: async () => "boom",
    });
    const { agent } = onThread(
      async ({ prompt }) => {
        const text = JSON.stringify(prompt);
        if (text.includes("busy")) await turn.opened;
        return text.includes("boom") || text.includes("busy")
          ? "ok"
          : { toolCalls: [{ toolName: "danger", input: {} }] };
      },
      { system, threads: { maxRuns: 1 }, tools: { danger }, defaultOptions: { limits: { firstChunkMs: 0 } } },
    );
    const { runId } = await agent.generate("ask", on("a"));
    const busy = await agent.stream("busy", on("b"));
    const output = agent.approveToolCall({ runId: runId! });
    await new Promise((resolve) => setTimeout(resolve, 500));
    turn.open();
    expect(await busy.text).toBe("ok");
    expect(await (await output).text).toBe("ok");
  });

  it("refuses callers in line when the process shuts down", async () => {
    const { agent, asked, answer } = held(1);
    const first = await agent.stream("to a", on("a"));
    await until(() => asked.length === 1);
    const second = agent.generate("to b", on("b"));
    await aMoment();
    const closed = agent.close();
    await expect(second).rejects.toMatchObject({ code: "storage-closed" });
    answer();
    expect(await first.text).toBe("ok");
    await closed;
  });

  it("must be 1 or more", async () => {
    const { agent } = onThread(["ok"], { threads: { maxRuns: 0 } });
    await expect(agent.generate("hi", ON)).rejects.toMatchObject({ code: "invalid-argument" });
  });
});
