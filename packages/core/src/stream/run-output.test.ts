import { execFile } from "node:child_process";
import { getEventListeners } from "node:events";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { agentWith, chunksOf, listOf, typesOf } from "../agent/__fixtures__/agent-with.ts";
import { createTool } from "../tool/tool.ts";

const echo = createTool({ id: "echo", description: "", execute: async ({ context }) => context });

describe("RunOutput", () => {
  it("streams text in order, in one envelope", async () => {
    const { agent } = agentWith([{ text: ["Hel", "lo"] }]);
    const output = await agent.stream("hi", { runId: "run-1" });
    const chunks = await chunksOf(output);
    expect(chunks.map((chunk) => chunk.type)).toEqual([
      "start",
      "step-start",
      "text-start",
      "text-delta",
      "text-delta",
      "text-end",
      "step-finish",
      "finish",
    ]);
    for (const chunk of chunks) expect(chunk).toMatchObject({ runId: "run-1", from: "AGENT" });
    expect(chunks[3]).toEqual({
      type: "text-delta",
      runId: "run-1",
      from: "AGENT",
      payload: { id: "text-1", text: "Hel" },
    });
    expect(chunks.at(-1)).toMatchObject({
      payload: { stepResult: { reason: "stop" }, output: { usage: { totalTokens: 15 } } },
    });
    expect(
      (chunks.at(-1) as { payload: { messages: { all: unknown[]; user: unknown[]; nonUser: unknown[] } } })
        .payload.messages,
    ).toMatchObject({
      all: [{ role: "user" }, { role: "assistant" }],
      user: [{ role: "user" }],
      nonUser: [{ role: "assistant" }],
    });
  });

  it("streams reasoning, sources and files, and answers them at the end", async () => {
    const { agent } = agentWith([
      {
        reasoning: ["hm", "m"],
        text: "yes",
        sources: [{ url: "https://a.example/", title: "A" }],
        files: [{ mediaType: "image/png", data: "AAAA" }],
      },
    ]);
    const output = await agent.stream("hi");
    expect(await typesOf(output)).toEqual([
      "start",
      "step-start",
      "reasoning-start",
      "reasoning-delta",
      "reasoning-delta",
      "reasoning-end",
      "text-start",
      "text-delta",
      "text-end",
      "source",
      "file",
      "step-finish",
      "finish",
    ]);
    expect(await output.reasoningText).toBe("hmm");
    expect(await output.reasoning).toEqual([{ text: "hmm" }]);
    expect(await output.sources).toMatchObject([
      { sourceType: "url", url: "https://a.example/", title: "A" },
    ]);
    expect(await output.files).toMatchObject([{ mimeType: "image/png", base64: "AAAA" }]);
    expect((await output.content).map((part) => part.type)).toEqual([
      "step-start",
      "reasoning",
      "text",
      "source",
      "file",
    ]);
  });

  it("streams a tool call from its first letter to its result", async () => {
    const { agent } = agentWith([{ toolCalls: [{ toolName: "echo", input: { a: 1 } }] }, "done"], {
      tools: { echo },
    });
    const output = await agent.stream("hi");
    const chunks = await chunksOf(output);
    expect(chunks.map((chunk) => chunk.type)).toEqual([
      "start",
      "step-start",
      "tool-call-input-streaming-start",
      "tool-call-delta",
      "tool-call-input-streaming-end",
      "tool-call",
      "tool-result",
      "step-finish",
      "step-start",
      "text-start",
      "text-delta",
      "text-end",
      "step-finish",
      "finish",
    ]);
    expect(chunks[6]).toMatchObject({
      payload: { toolCallId: "call-1-1", toolName: "echo", args: { a: 1 }, result: { a: 1 } },
    });
    expect(chunks[7]).toMatchObject({ payload: { stepResult: { reason: "tool-calls", isContinued: true } } });
    expect(await output.toolCalls).toMatchObject([{ toolName: "echo", payload: { args: { a: 1 } } }]);
    expect(await output.toolResults).toMatchObject([{ result: { a: 1 }, payload: { toolName: "echo" } }]);
    expect(await output.usage).toMatchObject({ totalTokens: 15 });
    expect(await output.totalUsage).toMatchObject({ totalTokens: 30 });
  });

  it("answers every promise without anybody reading, also taken apart", async () => {
    const {
      text,
      steps,
      finishReason,
      warnings,
      request,
      response,
      object,
      providerMetadata,
      suspendPayload,
      resumeSchema,
      consumeStream,
      getFullOutput,
      runId,
    } = await agentWith(["Hello"]).agent.stream("hi");
    expect(await text).toBe("Hello");
    expect(await steps).toHaveLength(1);
    expect(await finishReason).toBe("stop");
    expect(await response).toMatchObject({ messages: [{ role: "assistant" }] });
    expect([
      await warnings,
      await request,
      await object,
      await providerMetadata,
      await suspendPayload,
      await resumeSchema,
    ]).toEqual([[], {}, undefined, undefined, undefined, undefined]);
    await consumeStream();
    expect(await getFullOutput()).toMatchObject({
      text: "Hello",
      runId,
      rememberedMessages: [],
      messages: [{ role: "user" }, { role: "assistant" }],
    });
  });

  it("gives each reader the whole stream, at its own pace", async () => {
    const output = await agentWith([{ text: ["a", "b", "c"] }]).agent.stream("hi");
    const first = output.textStream;
    const [one, two] = await Promise.all([listOf(first), listOf(output.textStream)]);
    expect(one).toEqual(["a", "b", "c"]);
    expect(two).toEqual(one);
    expect(await listOf(output.textStream)).toEqual(one);
  });

  it("is read once by each who takes it, and says so to who reads it again", async () => {
    const output = await agentWith([{ text: ["a", "b"] }]).agent.stream("hi");
    const stream = output.textStream;
    expect(await listOf(stream)).toEqual(["a", "b"]);
    await expect(listOf(stream)).rejects.toThrow("Get it from the output again");
    await expect(stream.getReader().read()).rejects.toThrow("Get it from the output again");
    expect(await listOf(output.textStream)).toEqual(["a", "b"]);
  });

  it("is a real ReadableStream", async () => {
    const output = await agentWith([{ text: ["a", "b"] }]).agent.stream("hi");
    expect(output.fullStream).toBeInstanceOf(ReadableStream);
    const reader = output.textStream.getReader();
    expect(await reader.read()).toEqual({ done: false, value: "a" });
    await reader.cancel();
    const [left, right] = output.textStream.tee();
    expect(await Promise.all([listOf(left), listOf(right)])).toEqual([
      ["a", "b"],
      ["a", "b"],
    ]);
    expect(await new Response(output.textStream.pipeThrough(new TextEncoderStream())).text()).toBe("ab");
  });

  it("lets a reader leave early", async () => {
    const output = await agentWith([{ text: ["a", "b", "c"] }]).agent.stream("hi");
    for await (const text of output.textStream) {
      expect(text).toBe("a");
      break;
    }
    expect(await output.text).toBe("abc");
  });

  it("finishes a run that nobody reads", async () => {
    let finished = "";
    const { agent } = agentWith(["Hello"]);
    const output = await agent.stream("hi", { onFinish: ({ text }) => void (finished = text) });
    while (output.status === "running") await new Promise((resolve) => setTimeout(resolve, 1));
    expect([output.status, finished]).toEqual(["success", "Hello"]);
  });

  it("shows a failure as a chunk, as `error` and by rejecting", async () => {
    const { agent } = agentWith([{ error: new Error("no luck") }]);
    const failures: unknown[] = [];
    const output = await agent.stream("hi", {
      maxRetries: 0,
      onError: ({ error }) => void failures.push(error),
    });
    const chunks = await chunksOf(output);
    expect(chunks.map((chunk) => chunk.type)).toEqual(["start", "error"]);
    await expect(output.text).rejects.toMatchObject({
      code: "model-failed",
      message: expect.stringContaining("no luck"),
    });
    expect(output.status).toBe("failed");
    expect(failures).toEqual([output.error]);
    await output.consumeStream({ onError: (error) => void failures.push(error) });
    expect(failures).toHaveLength(2);
    await expect(
      agentWith([{ error: new Error("no") }]).agent.generate("hi", { maxRetries: 0 }),
    ).rejects.toMatchObject({ code: "model-failed" });
  });

  it("causes no unhandled rejection when a failed run is taken apart and never awaited", async () => {
    const script = `
      import { Agent } from "@selvedge/core/agent";
      import { scriptedModel } from "@selvedge/testing";
      process.on("unhandledRejection", () => process.exit(7));
      const boom = { error: new Error("boom") };
      const tool = { id: "t", description: "", execute: async ({}, { writer }) => { void writer.write(1); void writer.custom({ type: "data-x", data: 1 }); return new Promise((_, reject) => setTimeout(reject, 30)); } };
      const trips = { id: "trips", processOutputStream: ({ part, abort }) => part.type === "tool-output" ? abort("no") : part };
      const calls = { toolCalls: [{ toolName: "t", input: {} }] };
      const a = new Agent({ name: "a", instructions: "", model: scriptedModel([boom, boom, calls]), tools: { t: tool } });
      const { text, object, usage } = await a.stream("hi", { maxRetries: 0 });
      await a.stream("hi", { maxRetries: 0 });
      await a.stream("hi", { outputProcessors: [trips] });
      setTimeout(() => console.log("calm"), 150);`;
    const { stdout } = await promisify(execFile)(process.execPath, [
      "--conditions=selvedge-source",
      "--input-type=module",
      "-e",
      script,
    ]);
    expect(stdout.trim()).toBe("calm");
  });

  it("carries ten thousand chunks", async () => {
    const text = Array.from({ length: 10_000 }, (_, index) => `${index} `);
    const output = await agentWith([{ text }]).agent.stream("hi");
    expect(await listOf(output.textStream)).toHaveLength(10_000);
    expect(await output.text).toBe(text.join(""));
  });

  it("leaves no listener on a signal that many runs share", async () => {
    const { signal } = new AbortController();
    const { agent } = agentWith(
      ({ index }) => (index % 2 === 0 ? { toolCalls: [{ toolName: "echo", input: {} }] } : "ok"),
      { tools: { echo } },
    );
    for (let run = 0; run < 100; run++) await agent.generate("hi", { abortSignal: signal });
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});
