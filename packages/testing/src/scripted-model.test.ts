import { describe, expect, it } from "vitest";
import { scriptedModel } from "./scripted-model.ts";

const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];

type AnyModel = { doStream(options: never): PromiseLike<{ stream: ReadableStream<unknown> }> };
type AnyPart = { type: string; [name: string]: unknown };

async function partsOf(model: AnyModel, abortSignal?: AbortSignal): Promise<AnyPart[]> {
  const { stream } = await model.doStream({ prompt, ...(abortSignal && { abortSignal }) } as never);
  const parts: AnyPart[] = [];
  for await (const part of stream as ReadableStream<AnyPart>) parts.push(part);
  return parts;
}

describe("scriptedModel", () => {
  it("answers its calls one by one and records them", async () => {
    const model = scriptedModel(["first", { text: ["se", "cond"] }]);
    expect((await partsOf(model))[2]).toEqual({ type: "text-delta", id: "text-1", delta: "first" });
    expect((await partsOf(model)).filter((part) => part.type === "text-delta")).toHaveLength(2);
    expect(model.calls).toEqual([{ prompt }, { prompt }]);
  });

  it("says that its script has ended", async () => {
    const model = scriptedModel(["only"]);
    await partsOf(model);
    await expect(partsOf(model)).rejects.toThrow("has 1 reply, and call number 2 came");
  });

  it("may answer from the call", async () => {
    const model = scriptedModel(({ index, prompt: [message] }) => `${index}: ${message!.role}`);
    expect(await partsOf(model)).toContainEqual({ type: "text-delta", id: "text-1", delta: "0: user" });
  });

  it("sends reasoning, text, sources, files and tool calls, with the same ids each time", async () => {
    const reply = {
      reasoning: "hm",
      text: "see",
      sources: [{ url: "https://example.test" }],
      files: [{ mediaType: "image/png", data: "AA==" }],
      toolCalls: [
        { toolName: "a", input: { x: 1 } },
        { toolName: "b", input: "{broken", toolCallId: "mine" },
      ],
    };
    const once = await partsOf(scriptedModel([reply]));
    expect(once).toEqual(await partsOf(scriptedModel([reply])));
    expect(once.filter((part) => part.type === "tool-call")).toEqual([
      { type: "tool-call", toolCallId: "call-1-1", toolName: "a", input: '{"x":1}' },
      { type: "tool-call", toolCallId: "mine", toolName: "b", input: "{broken" },
    ]);
    expect(once.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } });
  });

  it("sends an object as JSON text", async () => {
    const { content } = await scriptedModel([{ object: { a: 1 } }]).doGenerate({ prompt });
    expect(content).toEqual([{ type: "text", text: '{"a":1}' }]);
  });

  it("fails where the script says", async () => {
    const error = new Error("scripted");
    await expect(partsOf(scriptedModel([{ error }]))).rejects.toBe(error);
    await expect(partsOf(scriptedModel([{ text: "x", error, errorAfter: 2 }]))).rejects.toBe(error);
    await expect(partsOf(scriptedModel([{ text: "x", errorAfter: 2 }]))).rejects.toThrow(
      "broke after 2 parts",
    );
    expect(await partsOf(scriptedModel([{ text: "x", cutAfter: 2 }]))).toHaveLength(2);
  });

  it.each([
    { hang: true },
    { text: "x", hang: { after: 2 } },
    { text: "x", delayMs: 60_000 },
    { text: "x", chunkDelayMs: 60_000 },
  ])("listens to its abort signal in %o", async (reply) => {
    await expect(partsOf(scriptedModel([reply]), AbortSignal.timeout(5))).rejects.toMatchObject({
      name: "TimeoutError",
    });
  });

  it("does not listen when told to ignore it", async () => {
    expect(await partsOf(scriptedModel(["hi"], { ignoreAbort: true }), AbortSignal.abort())).toHaveLength(5);
  });

  it("speaks older specifications", async () => {
    const files = [{ mediaType: "image/png", data: "AA==" }];
    const v3 = await partsOf(scriptedModel([{ files }], { specificationVersion: "v3" }));
    expect(v3[1]).toEqual({ type: "file", mediaType: "image/png", data: "AA==" });
    expect(v3.at(-1)).toMatchObject({ finishReason: { unified: "stop" } });
    const v2 = await partsOf(scriptedModel([{ files }], { specificationVersion: "v2" }));
    expect(v2.at(-1)).toMatchObject({
      finishReason: "stop",
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
    });
  });
});
