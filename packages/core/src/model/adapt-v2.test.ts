import type { LanguageModelV2, LanguageModelV2StreamPart } from "@ai-sdk/provider";
import { scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { open, readAll } from "./__fixtures__/open.ts";
import { BYTES, RICH_CALL, URL_OF_FILE } from "./__fixtures__/rich-call.ts";
import { adaptV2 } from "./adapt-v2.ts";

const modelWith = (reply: string | ScriptedReply = "hi") =>
  scriptedModel([reply], { specificationVersion: "v2" });

function modelOf(...parts: LanguageModelV2StreamPart[]): LanguageModelV2 {
  const stream = new ReadableStream<LanguageModelV2StreamPart>({
    start(controller) {
      for (const part of parts) controller.enqueue(part);
      controller.close();
    },
  });
  return { ...modelWith(), doStream: async () => ({ stream }) };
}

describe("adaptV2", () => {
  it("gives the model a prompt of its own specification", async () => {
    const model = modelWith();
    await adaptV2(model).doStream(RICH_CALL);
    const prompt = model.calls[0]!.prompt as unknown as Array<{ content: unknown }>;
    expect(prompt[0]).toBe(RICH_CALL.prompt[0]);
    expect(prompt[1]!.content).toEqual([
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", data: BYTES, filename: "a.png" },
      { type: "file", mediaType: "application/pdf", data: URL_OF_FILE },
      { type: "file", mediaType: "text/plain", data: new TextEncoder().encode("hé") },
    ]);
    expect(prompt[2]!.content).toMatchObject([
      { type: "reasoning" },
      { type: "tool-call" },
      { type: "tool-call" },
    ]);
    expect(prompt[3]!.content).toEqual([
      {
        type: "tool-result",
        toolCallId: "1",
        toolName: "weather",
        output: {
          type: "content",
          value: [
            { type: "text", text: "cold" },
            { type: "media", mediaType: "image/png", data: "AQID" },
            { type: "media", mediaType: "application/pdf", data: "AQID" },
            { type: "text", text: URL_OF_FILE.href },
            { type: "text", text: "note" },
          ],
        },
      },
      {
        type: "tool-result",
        toolCallId: "2",
        toolName: "weather",
        output: { type: "error-text", value: "not now" },
      },
    ]);
    expect(prompt, "a message with nothing left in it is not sent").toHaveLength(4);
  });

  it("gives the model tools of its own specification", async () => {
    const model = modelWith();
    await adaptV2(model).doStream(RICH_CALL);
    expect(model.calls[0]!.tools).toEqual([
      { type: "function", name: "weather", inputSchema: { type: "object" } },
      { type: "provider-defined", id: "openai.web_search", name: "search", args: { depth: 1 } },
    ]);
    expect(model.calls[0]).not.toHaveProperty("reasoning");
  });

  it("raises usage and the finish reason", async () => {
    const usage = { inputTokens: 100, outputTokens: 20, reasoningTokens: 5, cachedInputTokens: 60 };
    const parts = await readAll(await open(adaptV2(modelWith({ text: "x", usage }))));
    expect(parts.at(-1)).toEqual({
      type: "finish",
      finishReason: { unified: "stop", raw: "stop" },
      usage: {
        inputTokens: { total: 100, noCache: 40, cacheRead: 60, cacheWrite: undefined },
        outputTokens: { total: 20, text: 15, reasoning: 5 },
        raw: { ...usage, totalTokens: 120 },
      },
    });
  });

  it("does not invent numbers that the model did not report", async () => {
    const usage = { inputTokens: undefined, outputTokens: 3, totalTokens: undefined };
    const [finish] = await readAll(
      await open(adaptV2(modelOf({ type: "finish", finishReason: "unknown", usage }))),
    );
    expect(finish).toMatchObject({
      finishReason: { unified: "other", raw: "unknown" },
      usage: {
        inputTokens: { total: undefined, noCache: undefined },
        outputTokens: { total: 3, text: undefined },
      },
    });
  });

  it("raises files, tool results and warnings", async () => {
    const tool = { type: "function" as const, name: "t", inputSchema: {} };
    const parts = await readAll(
      await open(
        adaptV2(
          modelOf(
            {
              type: "stream-start",
              warnings: [
                { type: "unsupported-setting", setting: "seed", details: "ignored" },
                { type: "unsupported-tool", tool },
                { type: "other", message: "note" },
              ],
            },
            { type: "file", mediaType: "image/png", data: "AQID" },
            {
              type: "tool-result",
              toolCallId: "1",
              toolName: "search",
              result: { hits: 1 },
              providerExecuted: true,
            },
          ),
        ),
      ),
    );
    expect(parts).toEqual([
      {
        type: "stream-start",
        warnings: [
          { type: "unsupported", feature: "seed", details: "ignored" },
          { type: "unsupported", feature: "tool t" },
          { type: "other", message: "note" },
        ],
      },
      { type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } },
      { type: "tool-result", toolCallId: "1", toolName: "search", result: { hits: 1 } },
    ]);
  });

  it("raises the result of doGenerate", async () => {
    const result = await adaptV2(
      modelWith({ text: "hi", toolCalls: [{ toolName: "t", input: {} }] }),
    ).doGenerate(RICH_CALL);
    expect(result).toMatchObject({
      content: [
        { type: "text", text: "hi" },
        { type: "tool-call", toolCallId: "call-1-1" },
      ],
      finishReason: { unified: "tool-calls" },
      usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } },
      warnings: [],
    });
  });

  it("carries large bytes in a tool result", async () => {
    const data = new Uint8Array(200_000).fill(7);
    const model = modelWith();
    const value = [{ type: "file" as const, mediaType: "image/png", data: { type: "data" as const, data } }];
    const part = {
      type: "tool-result" as const,
      toolCallId: "1",
      toolName: "t",
      output: { type: "content" as const, value },
    };
    await adaptV2(model).doStream({ prompt: [{ role: "tool", content: [part] }] });
    const sent = JSON.stringify(model.calls[0]!.prompt);
    expect(sent).toContain(Buffer.from(data).toString("base64"));
  });
});
