import { scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { readAll, open } from "./__fixtures__/open.ts";
import { BYTES, RICH_CALL, URL_OF_FILE } from "./__fixtures__/rich-call.ts";
import { adaptV3 } from "./adapt-v3.ts";

function modelWith(...replies: Parameters<typeof scriptedModel>[0][] | never[]) {
  return scriptedModel((replies[0] ?? ["hi"]) as string[], { specificationVersion: "v3" });
}

describe("adaptV3", () => {
  it("gives the model a prompt of its own specification", async () => {
    const model = modelWith();
    await adaptV3(model).doStream(RICH_CALL);
    const [system, user, assistant, tool, approval] = model.calls[0]!.prompt as unknown as Array<{
      content: unknown;
    }>;
    expect(system).toBe(RICH_CALL.prompt[0]);
    expect(user!.content).toEqual([
      { type: "text", text: "look" },
      { type: "file", mediaType: "image/png", data: BYTES, filename: "a.png" },
      { type: "file", mediaType: "application/pdf", data: URL_OF_FILE },
      { type: "file", mediaType: "text/plain", data: new TextEncoder().encode("hé") },
    ]);
    expect(assistant!.content).toMatchObject([
      { type: "reasoning" },
      { type: "tool-call" },
      { type: "tool-call" },
    ]);
    expect(tool!.content).toMatchObject([
      {
        output: {
          type: "content",
          value: [
            { type: "text", text: "cold" },
            { type: "image-data", mediaType: "image/png", data: "AQID" },
            { type: "file-data", mediaType: "application/pdf", data: "AQID", filename: "b.pdf" },
            { type: "file-url", url: URL_OF_FILE.href },
            { type: "text", text: "note" },
          ],
        },
      },
      { output: { type: "execution-denied", reason: "not now" } },
      { type: "tool-approval-response", approved: true },
    ]);
    expect(approval).toBe(RICH_CALL.prompt[4]);
  });

  it("keeps tools and settings, and leaves out what v3 does not know", async () => {
    const model = modelWith();
    await adaptV3(model).doStream(RICH_CALL);
    expect(model.calls[0]).toMatchObject({ temperature: 0.3, tools: RICH_CALL.tools });
    expect(model.calls[0]).not.toHaveProperty("reasoning");
  });

  it("raises its parts to v4", async () => {
    const model = modelWith([{ text: "hi", files: [{ mediaType: "image/png", data: BYTES }] }] as never);
    const parts = await readAll(await open(adaptV3(model)));
    expect(parts).toContainEqual({
      type: "file",
      mediaType: "image/png",
      data: { type: "data", data: BYTES },
    });
    expect(parts.at(-1)).toMatchObject({
      type: "finish",
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 10 } },
    });
  });

  it("raises the result of doGenerate", async () => {
    const model = modelWith([{ text: "hi", files: [{ mediaType: "image/png", data: BYTES }] }] as never);
    const { content } = await adaptV3(model).doGenerate(RICH_CALL);
    expect(content).toEqual([
      { type: "text", text: "hi" },
      { type: "file", mediaType: "image/png", data: { type: "data", data: BYTES } },
    ]);
  });

  it("refuses a file by provider reference, which v3 cannot carry", async () => {
    const file = {
      type: "file" as const,
      mediaType: "image/png",
      data: { type: "reference" as const, reference: { openai: "file-1" } },
    };
    const call = adaptV3(modelWith()).doStream({ prompt: [{ role: "user", content: [file] }] });
    await expect(call).rejects.toMatchObject({
      code: "model-unsupported",
      message: expect.stringContaining("file-1"),
    });
  });

  it("passes cancel and errors through its stream", async () => {
    const { stream } = await adaptV3(
      modelWith([{ text: "x", errorAfter: 1, error: new Error("broke") }] as never),
    ).doStream(RICH_CALL);
    const reader = stream.getReader();
    await reader.read();
    await expect(reader.read()).rejects.toThrow("broke");
  });
});
