import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { CALLS } from "../storage/thread-tables.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith, chunksOf } from "./__fixtures__/agent-with.ts";
import { Follower, gate, HERE, ON, onThread, until } from "./__fixtures__/on-thread.ts";

const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });

/** Tools that count what they did. */
function makeTools() {
  const ran: string[] = [];
  const make = (id: string, more: object = {}) =>
    createTool({
      id,
      description: id,
      inputSchema: z.object({ n: z.number().optional() }),
      execute: async ({ context }) => {
        ran.push(`${id}${context.n ?? ""}`);
        return `${id} done`;
      },
      ...more,
    });
  return { ran, tools: { danger: make("danger", { requireApproval: true }), safe: make("safe") } };
}
const danger = (n: number) => ({ toolName: "danger", input: { n }, toolCallId: `d${n}` });
const callsOf = (prompt: { role: string; content: unknown }[]) =>
  prompt.flatMap(({ role, content }) =>
    role === "tool" ? (content as { toolCallId: string; output: { value: unknown } }[]) : [],
  );

describe("a call that needs approval", () => {
  it("waits, while the others of its step run, and is announced when it is stored", async () => {
    const { ran, tools } = makeTools();
    const { agent, follow, storage, messages } = onThread(
      [{ toolCalls: [danger(1), { toolName: "safe", input: {} }] }, "done"],
      { tools },
    );
    const reader = await follow();
    const sent = agent.sendMessage("go", HERE);
    const asked = await reader.until("tool-call-approval");
    expect(await storage.count({ table: CALLS, where: { state: "waiting" } })).toBe(1);
    expect(asked).toMatchObject({
      runId: sent.runId,
      payload: { toolCallId: "d1", toolName: "danger", args: { n: 1 } },
    });
    await reader.until("finish");
    expect(ran).toEqual(["safe"]);
    expect(reader.subscription.activeRunId()).toBe(sent.runId);
    expect(reader.chunks.at(-1)).toMatchObject({ payload: { stepResult: { reason: "suspended" } } });
    expect((await messages()).at(-1)!.content.metadata).toMatchObject({
      pendingToolApprovals: { d1: { toolName: "danger" } },
    });
    const answer = await agent.sendToolApproval({ ...HERE, toolCallId: "d1", approved: true });
    expect(answer).toEqual({ accepted: true, runId: sent.runId, toolCallId: "d1" });
    await reader.until("finish", 2);
    expect(ran).toEqual(["safe", "danger1"]);
    expect(reader.text).toBe("done");
    expect(reader.chunks.every((chunk) => chunk.runId === sent.runId)).toBe(true);
    const [, response] = await messages();
    expect(response!.content.metadata ?? {}).not.toHaveProperty("pendingToolApprovals");
    expect(reader.chunks.map((chunk) => chunk.seq)).toEqual(reader.chunks.map((_, index) => index + 1));
    reader.stop();
  });

  it("is answered by its exact id, each once, and the model goes on when all are", async () => {
    const { ran, tools } = makeTools();
    const { agent, follow, model, idle, messages } = onThread(
      [{ toolCalls: [danger(1), danger(2), danger(3)] }, "done"],
      { tools },
    );
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await reader.until("finish");
    const answer = (more: object) => agent.sendToolApproval({ ...HERE, approved: true, ...more });
    await expect(answer({})).rejects.toEqual(refusal("ambiguous"));
    await expect(answer({ toolCallId: "d9" })).rejects.toEqual(refusal("not-found"));
    await expect(answer({ toolCallId: { ne: "x" } as never })).rejects.toEqual(refusal("invalid-argument"));
    await answer({ toolCallId: "d2" });
    await reader.until("finish", 2);
    expect(ran).toEqual(["danger2"]);
    expect(model.calls).toHaveLength(1);
    await expect(answer({ toolCallId: "d2" })).rejects.toMatchObject({
      code: expect.stringMatching(/already-decided|not-found/),
    });
    const waiting = (await messages()).at(-1)!.content.metadata as { pendingToolApprovals: object };
    expect(Object.keys(waiting.pendingToolApprovals)).toEqual(["d1", "d3"]);
    const both = await Promise.allSettled([
      answer({ toolCallId: "d1" }),
      answer({ toolCallId: "d1", approved: false }),
      answer({ toolCallId: "d3", approved: false, declineContext: { reason: "too risky" } }),
    ]);
    expect(both.map((one) => one.status).sort()).toEqual(["fulfilled", "fulfilled", "rejected"]);
    await idle();
    expect(ran.filter((name) => name !== "danger2").length).toBeLessThanOrEqual(1);
    expect(model.calls).toHaveLength(2);
    const results = callsOf(model.calls[1]!.prompt);
    expect(results.map((result) => result.toolCallId).sort()).toEqual(["d1", "d2", "d3"]);
    expect(JSON.stringify(results.find((result) => result.toolCallId === "d3"))).toContain("too risky");
    reader.stop();
  });

  it("does not run when it is declined, whatever the data say", async () => {
    const { ran, tools } = makeTools();
    const { agent, follow, idle } = onThread([{ toolCalls: [danger(1)] }, "ok"], { tools });
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await reader.until("finish");
    for (const approved of ["true", 1, null, undefined])
      await expect(agent.sendToolApproval({ ...HERE, approved: approved as never })).rejects.toEqual(
        refusal("invalid-argument"),
      );
    await agent.sendToolApproval({ ...HERE, approved: false, resumeData: { approved: true } });
    await idle();
    expect(ran).toEqual([]);
    await reader.until("tool-output-denied");
    reader.stop();
  });

  it("does not run on a yes whose data say no", async () => {
    const { ran, tools } = makeTools();
    const { agent, follow, idle } = onThread([{ toolCalls: [danger(1)] }, "ok"], { tools });
    const reader = await follow();
    const { runId } = agent.sendMessage("go", HERE);
    await reader.until("finish");
    const resumeData = { approved: false };
    await expect(agent.sendToolApproval({ ...HERE, approved: true, resumeData })).rejects.toEqual(
      refusal("invalid-argument"),
    );
    await expect(agent.approveToolCall({ runId: runId!, resumeData })).rejects.toEqual(
      refusal("invalid-argument"),
    );
    expect(ran).toEqual([]);
    await agent.sendToolApproval({ ...HERE, approved: true });
    await idle();
    expect(ran).toEqual(["danger1"]);
    reader.stop();
  });

  it("is refused after an abort, and the history has an answer to it", async () => {
    const { ran, tools } = makeTools();
    const { agent, follow, idle, messages, asked } = onThread([{ toolCalls: [danger(1)] }, "next"], {
      tools,
    });
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await reader.until("finish");
    expect(reader.subscription.abort()).toBe(true);
    await reader.until("abort");
    await idle();
    await expect(agent.sendToolApproval({ ...HERE, toolCallId: "d1", approved: true })).rejects.toMatchObject(
      {
        code: expect.stringMatching(/not-found|already-decided/),
      },
    );
    expect(ran).toEqual([]);
    expect((await messages())[1]!.content.metadata ?? {}).not.toHaveProperty("pendingToolApprovals");
    await agent.sendMessage("again", HERE).admitted;
    await idle();
    expect(asked(1)).toEqual([
      "user: go",
      "assistant: [tool-call danger]",
      "tool: [tool-result danger]",
      "user: again",
    ]);
    reader.stop();
  });

  it("keeps the thread: messages wait for the run, calls are told", async () => {
    const { tools } = makeTools();
    const { agent, follow, history, idle } = onThread([{ toolCalls: [danger(1)] }, "done", "queued"], {
      tools,
    });
    const reader = await follow();
    const sent = agent.sendMessage("go", HERE);
    await reader.until("finish");
    await expect(agent.generate("x", ON)).rejects.toEqual(refusal("thread-suspended"));
    expect(await agent.sendMessage("by the way", HERE).admitted).toEqual({
      action: "deliver",
      runId: sent.runId,
    });
    expect(await agent.queueMessage("later", HERE).admitted).toMatchObject({ action: "queue" });
    await agent.sendToolApproval({ ...HERE, approved: true });
    await idle();
    expect(await history()).toEqual([
      "signal: go",
      "assistant: [danger result]",
      "signal: by the way",
      "assistant: done",
      "signal: later",
      "assistant: queued",
    ]);
    reader.stop();
  });

  it("counts towards maxSteps like any other step", async () => {
    const { tools } = makeTools();
    const script = ({ index }: { index: number }) => ({ toolCalls: [danger(index)] });
    const { agent, model, follow, idle } = onThread(script, { tools });
    const reader = await follow();
    agent.sendMessage("go", { ...HERE, ifIdle: { streamOptions: { maxSteps: 2 } } });
    for (const turn of [1, 2]) {
      await reader.until("finish", turn);
      await agent.sendToolApproval({ ...HERE, approved: true });
    }
    await idle();
    expect(model.calls).toHaveLength(2);
    reader.stop();
  });

  it("gets a readable answer when its tool is gone or takes other arguments by then", async () => {
    const { tools } = makeTools();
    let current: Record<string, unknown> = tools;
    const { agent, follow, idle, model } = onThread(
      [{ toolCalls: [danger(1)] }, "ok", { toolCalls: [danger(2)] }, "ok"],
      {
        tools: (() => current) as never,
      },
    );
    const reader = await follow();
    agent.sendMessage("go", HERE);
    await reader.until("finish");
    current = { safe: tools.safe };
    await agent.sendToolApproval({ ...HERE, approved: true });
    await idle();
    expect(JSON.stringify(callsOf(model.calls[1]!.prompt))).toContain("There is no tool");
    current = tools;
    agent.sendMessage("again", HERE);
    await reader.until("finish", 3);
    current = {
      danger: createTool({
        id: "danger",
        description: "d",
        inputSchema: z.object({ path: z.string() }),
        execute: async () => "ran",
      }),
    };
    await agent.sendToolApproval({ ...HERE, approved: true });
    await idle();
    expect(JSON.stringify(callsOf(model.calls[3]!.prompt).at(-1))).toMatch(/path/);
    reader.stop();
  });

  it("can be found again: who waits, since when, page by page", async () => {
    const { tools } = makeTools();
    const { agent, follow } = onThread(() => ({ toolCalls: [danger(1)] }), { tools });
    const before = new Date();
    for (const threadId of ["a", "b", "c"]) {
      const reader = await follow({ threadId });
      await agent
        .sendMessage("go", { threadId, resourceId: threadId === "c" ? "r2" : "r1" })
        .admitted.catch(() => {});
      if (threadId !== "c") await reader.until("finish");
      reader.stop();
    }
    const other = await agent.subscribeToThread({ threadId: "c" });
    await until(async () => (await agent.listSuspendedRuns()).total === 3);
    other.unsubscribe();
    const { runs, total } = await agent.listSuspendedRuns({ perPage: 2 });
    expect(total).toBe(3);
    expect(runs.map((run) => run.threadId)).toEqual(["a", "b"]);
    expect(runs[0]).toMatchObject({
      status: "suspended",
      resourceId: "r1",
      suspendedAt: expect.any(Date),
      toolCalls: [{ toolCallId: "d1", toolName: "danger", args: { n: 1 }, requiresApproval: true }],
    });
    expect((await agent.listSuspendedRuns({ perPage: 2, page: 1 })).runs.map((run) => run.threadId)).toEqual([
      "c",
    ]);
    expect((await agent.listSuspendedRuns({ resourceId: "r2" })).total).toBe(1);
    expect((await agent.listSuspendedRuns({ threadId: "a" })).total).toBe(1);
    expect((await agent.listSuspendedRuns({ toDate: before })).total).toBe(0);
    expect((await agent.listSuspendedRuns({ fromDate: before })).total).toBe(3);
    for (const bad of [{ page: -1 }, { perPage: 0.5 }, { threadId: { ne: "x" } }, { fromDate: "now" }])
      await expect(agent.listSuspendedRuns(bad as never)).rejects.toEqual(refusal("invalid-argument"));
  });
});

describe("a run that waits", () => {
  const mail = (ran: string[]) =>
    createTool({
      id: "mail",
      description: "mails",
      execute: async () => {
        ran.push("mail");
        return "sent";
      },
    });
  const call = { toolName: "mail", input: {}, toolCallId: "m1" };

  it("goes on with the tools and functions of its call", async () => {
    const ran: string[] = [];
    const asked: string[] = [];
    const finished: string[] = [];
    const { agent, idle } = onThread([
      { toolCalls: [call] },
      { toolCalls: [{ ...call, toolCallId: "m2" }] },
      "done",
    ]);
    const output = await agent.stream("go", {
      ...ON,
      toolsets: { post: { mail: mail(ran) } },
      requireToolApproval: ({ toolName }) => asked.push(toolName) === 1,
      onFinish: ({ finishReason }) => void finished.push(finishReason),
    });
    await chunksOf(output);
    await agent.sendToolApproval({ ...HERE, approved: true });
    await idle();
    expect(ran).toEqual(["mail", "mail"]);
    expect(asked).toEqual(["mail", "mail"]);
    expect(finished).toEqual(["suspended", "stop"]);
  });

  it("asks for more approvals than needed, never fewer, where it goes on without them", async () => {
    const storage = new InMemoryStorage();
    const ran: string[] = [];
    const script = ({ index }: { index: number }) => ({ toolCalls: [{ ...call, toolCallId: `m${index}` }] });
    const first = onThread(script, { storage, tools: { mail: mail(ran) } });
    await chunksOf(await first.agent.stream("go", { ...ON, requireToolApproval: () => true }));
    const second = onThread(script, { storage, tools: { mail: mail(ran) } });
    const [waiting] = (await second.agent.listSuspendedRuns()).runs;
    const chunks = await chunksOf(await second.agent.approveToolCall({ runId: waiting!.runId }));
    expect(chunks.map((chunk) => chunk.type)).toContain("tool-call-approval");
    expect(ran).toEqual(["mail"]);
  });
});

describe("approveToolCall and declineToolCall", () => {
  it.each(["with memory", "without"])("answer the rest of the run as a stream, %s", async (how) => {
    const { ran, tools } = makeTools();
    const script = [{ toolCalls: [danger(1), danger(2)] }, "done"];
    const context = [{ role: "user", content: "background" }];
    const { agent, model } = how === "without" ? agentWith(script, { tools }) : onThread(script, { tools });
    const output = await agent.stream("go", { ...(how !== "without" && ON), context });
    const first = await chunksOf(output);
    expect(first.at(-1)).toMatchObject({ type: "finish", payload: { stepResult: { reason: "suspended" } } });
    const { runId } = output;
    await expect(agent.approveToolCall({ runId: "unknown" })).rejects.toEqual(refusal("not-found"));
    await expect(agent.approveToolCall({ runId })).rejects.toEqual(refusal("ambiguous"));
    await expect(agent.approveToolCall({ runId, toolCallId: "d9" })).rejects.toEqual(refusal("not-found"));
    await expect(agent.approveToolCall(undefined as never)).rejects.toMatchObject({ name: "AgentError" });
    const second = await agent.approveToolCall({ runId, toolCallId: "d1" });
    expect(second.runId).toBe(runId);
    expect((await chunksOf(second)).map((chunk) => chunk.type)).toContain("tool-result");
    const third = await agent.declineToolCall({ runId, toolCallId: "d2", reason: "not today" });
    expect(await third.text).toBe("done");
    expect(ran).toEqual(["danger1"]);
    expect(JSON.stringify(callsOf(model.calls[1]!.prompt))).toContain("not today");
    expect(model.calls[1]!.prompt.map((message) => message.role)).toEqual([
      "system",
      "user",
      "user",
      "assistant",
      "tool",
    ]);
    await expect(agent.approveToolCall({ runId, toolCallId: "d1" })).rejects.toMatchObject({
      name: "AgentError",
    });
  });

  it("both get the stream when two calls are answered at once", async () => {
    const { ran, tools } = makeTools();
    const { agent } = onThread([{ toolCalls: [danger(1), danger(2)] }, "done"], { tools });
    const output = await agent.stream("go", ON);
    await chunksOf(output);
    const { runId } = output;
    const answered = await Promise.allSettled([
      agent.approveToolCall({ runId, toolCallId: "d1" }),
      agent.approveToolCall({ runId, toolCallId: "d1" }),
      agent.approveToolCall({ runId, toolCallId: "d2" }),
    ]);
    expect(answered.map((one) => one.status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    await until(() => ran.length === 2);
    expect(ran.sort()).toEqual(["danger1", "danger2"]);
  });
});

describe("a tool that suspends", () => {
  const asking = (seen: unknown[]) =>
    createTool({
      id: "ask",
      description: "asks",
      resumeSchema: z.object({ answer: z.string() }),
      execute: async (_, { suspend, resumeData }) => {
        seen.push(resumeData);
        if (seen.length <= 2) return suspend({ question: seen.length });
        return "settled";
      },
    });

  it("may ask again, and gets each answer", async () => {
    const seen: unknown[] = [];
    const { agent, follow, idle, messages } = onThread(
      [{ toolCalls: [{ toolName: "ask", input: {}, toolCallId: "q" }] }, "done"],
      {
        tools: { ask: asking(seen) },
      },
    );
    const reader = await follow();
    agent.sendMessage("go", HERE);
    for (const turn of [1, 2]) {
      const chunk = await reader.until("tool-call-suspended", turn);
      expect(chunk).toMatchObject({ payload: { toolCallId: "q", suspendPayload: { question: turn } } });
      await reader.until("finish", turn);
      expect((await messages()).at(-1)!.content.metadata).toHaveProperty("suspendedTools");
      await agent.sendToolApproval({
        ...HERE,
        toolCallId: "q",
        approved: true,
        resumeData: { answer: `a${turn}` },
      });
    }
    await idle();
    expect(seen).toEqual([undefined, { answer: "a1" }, { answer: "a2" }]);
    expect((await messages())[1]!.content.metadata ?? {}).not.toHaveProperty("suspendedTools");
    reader.stop();
  });

  it("is listed whole beside others that ran, and its run can be aborted", async () => {
    const { tools } = makeTools();
    const { agent, follow, idle, messages, storage } = onThread(
      [
        {
          toolCalls: [
            { toolName: "ask", input: { n: 7 }, toolCallId: "q" },
            { toolName: "safe", input: {} },
          ],
        },
      ],
      { tools: { ...tools, ask: asking([]) } },
    );
    await chunksOf(await agent.stream("go", ON));
    expect((await agent.listSuspendedRuns()).runs).toMatchObject([
      { toolCalls: [{ toolCallId: "q", toolName: "ask", args: { n: 7 }, suspendPayload: { question: 1 } }] },
    ]);
    const reader = await follow();
    expect(reader.subscription.abort()).toBe(true);
    await idle();
    reader.stop();
    expect(await storage.count({ table: CALLS, where: {} })).toBe(0);
    expect((await messages()).at(-1)!.content.parts).toMatchObject([
      { type: "step-start" },
      { toolInvocation: { toolCallId: "q", state: "output-error" } },
      { toolInvocation: { toolName: "safe", state: "result" } },
    ]);
  });

  it("has an answer in the history when its run is aborted while it runs", async () => {
    const started = gate();
    const slow = createTool({
      id: "slow",
      description: "waits until it is aborted",
      requireApproval: true,
      execute: (_, { abortSignal }) =>
        new Promise((_, reject) => {
          abortSignal!.addEventListener("abort", () => reject(new Error("aborted")));
          started.open();
        }),
    });
    const script = [{ toolCalls: [{ toolName: "slow", input: {}, toolCallId: "s" }] }];
    const { agent, follow, idle, messages } = onThread(script, { tools: { slow } });
    await chunksOf(await agent.stream("go", ON));
    const reader = await follow();
    await agent.sendToolApproval({ ...HERE, toolCallId: "s", approved: true });
    await started.opened;
    reader.subscription.abort();
    await idle();
    reader.stop();
    expect((await messages()).at(-1)!.content).toMatchObject({
      parts: [{ type: "step-start" }, { toolInvocation: { toolCallId: "s", state: "output-error" } }],
      metadata: { incomplete: true },
    });
  });

  it("is not run with data that do not fit: who answers is told, and may answer again", async () => {
    for (const memory of [true, false]) {
      const seen: unknown[] = [];
      const tool = createTool({
        id: "ask",
        description: "asks",
        resumeSchema: z.object({ answer: z.string() }),
        execute: async (_, { suspend, resumeData }) => {
          seen.push(resumeData);
          return resumeData ? "ok" : suspend({});
        },
      });
      const script = [{ toolCalls: [{ toolName: "ask", input: {} }] }, "done"];
      const { agent } = memory
        ? onThread(script, { tools: { ask: tool } })
        : agentWith(script, { tools: { ask: tool } });
      const output = await agent.stream("go", memory ? ON : {});
      await chunksOf(output);
      const { runId } = output;
      const circular: Record<string, unknown> = {};
      circular["self"] = circular;
      for (const resumeData of [circular, 1n, () => 1])
        await expect(agent.approveToolCall({ runId, resumeData })).rejects.toEqual(
          refusal("invalid-argument"),
        );
      for (const resumeData of [{ answer: 5 }, {}, "yes", undefined])
        await expect(agent.approveToolCall({ runId, resumeData })).rejects.toEqual(
          refusal("tool-input-invalid"),
        );
      expect(seen).toEqual([undefined]);
      const rest = await agent.approveToolCall({ runId, resumeData: { answer: "yes" } });
      expect(await rest.text).toBe("done");
      expect(seen).toEqual([undefined, { answer: "yes" }]);
    }
  });

  it("can tell an answer without data from its first run", async () => {
    for (const memory of [true, false]) {
      const seen: unknown[] = [];
      const tool = createTool({
        id: "ask",
        description: "asks",
        execute: async (_, { suspend, resumeData }) => {
          seen.push(resumeData);
          return resumeData ? "ok" : suspend({});
        },
      });
      const script = [{ toolCalls: [{ toolName: "ask", input: {} }] }, "done"];
      const { agent } = memory
        ? onThread(script, { tools: { ask: tool } })
        : agentWith(script, { tools: { ask: tool } });
      const output = await agent.stream("go", memory ? ON : {});
      await chunksOf(output);
      expect(await (await agent.approveToolCall({ runId: output.runId })).text).toBe("done");
      expect(seen).toEqual([undefined, { approved: true }]);
    }
  });
});

describe("a late reader of a run that waits", () => {
  it("sees the question and can answer it", async () => {
    const { ran, tools } = makeTools();
    const { agent, idle } = onThread([{ toolCalls: [danger(1)] }, "done"], { tools });
    const output = await agent.stream("go", ON);
    await chunksOf(output);
    const late = new Follower(await agent.subscribeToThread({ threadId: "t1" }));
    expect(await late.until("tool-call-approval")).toMatchObject({ runId: output.runId });
    await agent.sendToolApproval({ threadId: "t1", approved: true });
    await late.until("finish", 2);
    await idle();
    expect(ran).toEqual(["danger1"]);
    late.stop();
  });
});
