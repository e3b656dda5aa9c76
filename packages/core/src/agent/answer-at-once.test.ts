import { describe, expect, it } from "vitest";
import type { ScriptedReply } from "@selvedge/testing";
import { RUNS } from "../storage/thread-tables.ts";
import type { RunOutput } from "../stream/run-output.ts";
import { createTool } from "../tool/tool.ts";
import { agentWith } from "./__fixtures__/agent-with.ts";
import { HERE, ON, onThread } from "./__fixtures__/on-thread.ts";

const calls: ScriptedReply = { toolCalls: [{ toolName: "t", input: { n: 1 } }] };
const asks = createTool({
  id: "t",
  description: "",
  requireApproval: true,
  execute: async ({ context }) => context,
});
const suspends = createTool({
  id: "t",
  description: "",
  execute: async (_, { suspend, resumeData }) => resumeData ?? suspend({ why: "?" }),
});
/** Works until it is aborted. */
const works = createTool({
  id: "t",
  description: "",
  requireApproval: true,
  execute: async (_, { abortSignal }) =>
    new Promise((resolve) => abortSignal?.addEventListener("abort", resolve)),
});
const questions = [
  ["tool-call-approval", asks],
  ["tool-call-suspended", suspends],
] as const;

describe("a waiting call of a run without a thread", () => {
  it.each(questions)("can be answered as soon as %s is seen", async (type, tool) => {
    const { agent } = agentWith([calls, "done"], { tools: { t: tool } });
    const output = await agent.stream("go");
    let answer: string | undefined;
    for await (const chunk of output.fullStream)
      if (chunk.type === type) answer = await (await agent.approveToolCall({ runId: output.runId })).text;
    expect([answer, output.status]).toEqual(["done", "suspended"]);
    await expect(agent.approveToolCall({ runId: output.runId })).rejects.toMatchObject({ code: "not-found" });
  });

  it("can be answered by the callback that the run waits for", async () => {
    const { agent } = agentWith([calls, "done"], { tools: { t: asks } });
    let answer: string | undefined;
    const output = await agent.stream("go", {
      onChunk: async (chunk) => {
        if (chunk.type !== "tool-call-approval") return;
        answer = await (await agent.approveToolCall({ runId: chunk.runId, onChunk: () => {} })).text;
      },
    });
    await output.consumeStream();
    expect(answer).toBe("done");
  });

  it.each(questions)("can be answered beside another one, each as its %s is seen", async (type, tool) => {
    const both = { toolCalls: [...calls.toolCalls!, { toolName: "t", input: { n: 2 } }] };
    const { agent } = agentWith([both, "done"], { tools: { t: tool } });
    const output = await agent.stream("go");
    const { runId } = output;
    const answers: RunOutput[] = [];
    for await (const chunk of output.fullStream) {
      if (chunk.type !== type) continue;
      const { toolCallId } = chunk.payload as { toolCallId: string };
      answers.push(await agent.approveToolCall({ runId, toolCallId }));
    }
    expect(await Promise.all(answers.map(({ text }) => text))).toEqual(["", "done"]);
  });

  it("can be answered at the same moment as another one", async () => {
    const both = { toolCalls: [...calls.toolCalls!, { toolName: "t", input: { n: 2 } }] };
    const { agent } = agentWith([both, "done"], { tools: { t: asks } });
    const { runId, ...output } = await agent.generate("go");
    const ids = output.toolCalls.map(({ toolCallId }) => toolCallId);
    const answers = await Promise.all(ids.map((toolCallId) => agent.approveToolCall({ runId, toolCallId })));
    expect(await Promise.all(answers.map(({ text }) => text))).toEqual(["", "done"]);
  });

  it("still waits when its run could not go on", async () => {
    let fails = false;
    const { agent } = agentWith([calls, "done"], {
      tools: { t: asks },
      instructions: () => {
        if (fails) throw new Error("No instructions.");
        return "Be brief.";
      },
    });
    const { runId } = await agent.generate("go");
    fails = true;
    await expect(agent.approveToolCall({ runId })).rejects.toThrow("No instructions.");
    fails = false;
    expect(await (await agent.approveToolCall({ runId })).text).toBe("done");
  });

  it("keeps the steps of a run that waits twice apart", async () => {
    const { agent, model } = agentWith([calls, calls, "done"], { tools: { t: asks } });
    const first = await agent.stream("go", { maxSteps: 3 });
    await first.consumeStream();
    const second = await agent.approveToolCall({ runId: first.runId });
    await second.consumeStream();
    const third = await agent.approveToolCall({ runId: first.runId });
    expect(await third.text).toBe("done");
    expect(model.calls[2]!.prompt.map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "assistant",
      "tool",
    ]);
    expect(await first.toolResults).toEqual([]);
  });

  it("is not asked when a processor stops the run at the question", async () => {
    const stops = {
      id: "p",
      processOutputStream: ({ part, abort }: any) =>
        part.type === "tool-call-approval" ? abort("no") : part,
    };
    const { agent } = agentWith([calls, "done"], { tools: { t: asks }, outputProcessors: [stops] });
    const output = await agent.stream("go");
    await output.consumeStream();
    expect(output.status).toBe("tripwire");
    await expect(agent.approveToolCall({ runId: output.runId })).rejects.toMatchObject({ code: "not-found" });
  });

  it("ends with its run when the caller aborts at the question", async () => {
    const { agent } = agentWith([calls, "done"], { tools: { t: asks } });
    const controller = new AbortController();
    const output = await agent.stream("go", {
      abortSignal: controller.signal,
      onChunk: (chunk) => void (chunk.type === "tool-call-approval" && controller.abort()),
    });
    await output.consumeStream();
    expect(output.status).toBe("canceled");
    await expect(agent.approveToolCall({ runId: output.runId })).rejects.toMatchObject({ code: "not-found" });
  });
});

describe("a waiting call of a run on a thread", () => {
  it.each(questions)("can be answered as soon as %s is seen on the stream", async (type, tool) => {
    const { agent, idle } = onThread([calls, "done"], { tools: { t: tool } });
    const output = await agent.stream("go", ON);
    let answer: string | undefined;
    for await (const chunk of output.fullStream)
      if (chunk.type === type) answer = await (await agent.approveToolCall({ runId: output.runId })).text;
    expect(answer).toBe("done");
    await idle();
  });

  it.each(questions)("can be answered by the callback that is told of %s", async (type, tool) => {
    const { agent, idle } = onThread([calls, "done"], { tools: { t: tool } });
    let answer: string | undefined;
    const output = await agent.stream("go", {
      ...ON,
      onChunk: async (chunk) => {
        if (chunk.type !== type) return;
        answer = await (await agent.approveToolCall({ runId: chunk.runId, onChunk: () => {} })).text;
      },
    });
    await output.consumeStream();
    expect(answer).toBe("done");
    await idle();
  });

  it("is refused at once to a callback that the run waits for before it can go on", async () => {
    const { agent, idle } = onThread([calls, "done"], { tools: { t: asks } });
    let error: unknown;
    const output = await agent.stream("go", {
      ...ON,
      onStepFinish: async () => {
        error = await agent.approveToolCall({ runId: output.runId }).catch((thrown: unknown) => thrown);
      },
    });
    await output.consumeStream();
    expect(error).toMatchObject({
      code: "thread-busy",
      message: expect.stringContaining("sendToolApproval"),
    });
    expect(await (await agent.approveToolCall({ runId: output.runId })).text).toBe("done");
    await idle();
  });

  it.each(questions)("can be aborted as soon as a reader sees %s", async (type, tool) => {
    // Many times: which commit brings the chunk decides what the reader finds.
    for (let round = 0; round < 20; round++) {
      const { agent, idle, messages } = onThread([calls, "done"], { tools: { t: tool } });
      const subscription = await agent.subscribeToThread(HERE);
      if (round % 2 === 0) await agent.sendMessage("go", HERE).admitted;
      else void agent.stream("go", ON);
      let aborted: boolean | undefined;
      for await (const chunk of subscription.stream) {
        if (chunk.type === type) aborted = subscription.abort();
        if (chunk.type === "abort") break;
      }
      expect(aborted).toBe(true);
      await idle();
      expect((await agent.listSuspendedRuns()).total).toBe(0);
      expect((await messages()).at(-1)!.content.parts.at(-1)).toMatchObject({
        toolInvocation: { state: "output-error" },
      });
    }
  });

  it("can be aborted right after its answer", async () => {
    const { agent, idle, storage } = onThread([calls, "done"], { tools: { t: works } });
    await agent.generate("go", ON);
    const subscription = await agent.subscribeToThread(HERE);
    await agent.sendToolApproval({ ...HERE, approved: true });
    expect(subscription.abort()).toBe(true);
    await idle();
    expect(await storage.select({ table: RUNS })).toMatchObject([{ state: "aborted" }]);
    subscription.unsubscribe();
  });

  it("ends with its run when the caller of stream() aborts at the question", async () => {
    const { agent, idle } = onThread([calls, "done"], { tools: { t: asks } });
    const controller = new AbortController();
    const output = await agent.stream("go", { ...ON, abortSignal: controller.signal });
    for await (const chunk of output.fullStream) if (chunk.type === "tool-call-approval") controller.abort();
    await idle();
    expect((await agent.listSuspendedRuns()).total).toBe(0);
  });
});
