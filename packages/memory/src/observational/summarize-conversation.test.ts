import { scriptedModel } from "@selvedge/testing";
import { describe, expect, test } from "vitest";
import { Extractor } from "./extractor.ts";
import { summarizeConversation } from "./summarize-conversation.ts";

const messages = Array.from({ length: 10 }, (_, index) => ({
  role: index % 2 ? ("assistant" as const) : ("user" as const),
  content: `line ${index} <b>`,
}));
const promptOf = (model: ReturnType<typeof scriptedModel>, call = 0): string =>
  JSON.stringify(model.calls[call]!.prompt);

describe("summarizeConversation", () => {
  test("returns the summary as the model wrote it, with its usage", async () => {
    const model = scriptedModel([
      { text: "Sure.\n<summary>\nAda uses <b>.\n</summary>", usage: { inputTokens: 7, outputTokens: 3 } },
    ]);
    expect(await summarizeConversation({ messages, model })).toEqual({
      summary: "Ada uses <b>.",
      extracted: {},
      usage: { inputTokens: 7, outputTokens: 3, totalTokens: 10 },
    });
  });

  test("accepts an answer without tags", async () => {
    const { summary } = await summarizeConversation({ messages, model: scriptedModel(["Just this."]) });
    expect(summary).toBe("Just this.");
  });

  test("extracts values, inline and by schema, and says what failed", async () => {
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const extract = [
      new Extractor({ name: "Mood", instructions: "The mood." }),
      new Extractor({ name: "Count", instructions: "How many.", schema }),
      new Extractor({ name: "Broken", instructions: "What?", schema }),
    ];
    const model = scriptedModel(["<summary>s</summary>\n<mood>good</mood>", '{"n":3}', '{"n":"three"}']);
    expect(await summarizeConversation({ messages, model, extract })).toMatchObject({
      summary: "s",
      extracted: { mood: "good", count: { n: 3 } },
      extractionFailures: [{ slug: "broken", error: expect.stringContaining("n") }],
    });
    expect(model.calls[1]).toMatchObject({ responseFormat: { type: "json", schema } });
  });

  test("reads only the last messages, and only as many tokens as it may", async () => {
    const model = scriptedModel(() => "<summary>s</summary>");
    await summarizeConversation({ messages, model, lastMessages: 2 });
    expect(promptOf(model)).toContain("line 8");
    expect(promptOf(model)).not.toContain("line 7");
    await summarizeConversation({ messages, model, maxInputTokens: 40, instructions: "Be brief." });
    expect(promptOf(model, 1)).toContain("line 9");
    expect(promptOf(model, 1)).not.toContain("line 1 ");
    expect(promptOf(model, 1)).toMatch(/\d older messages are not shown/);
    expect(promptOf(model, 1)).toContain("Be brief.");
  });

  test("throws if the model writes nothing, if there is nothing to read, and on abort", async () => {
    await expect(
      summarizeConversation({ messages, model: scriptedModel(["<summary></summary>"]) }),
    ).rejects.toMatchObject({ code: "model-incomplete" });
    await expect(summarizeConversation({ messages: [], model: scriptedModel(["x"]) })).rejects.toMatchObject({
      code: "invalid-argument",
    });
    const abortSignal = AbortSignal.abort(new Error("stop"));
    await expect(
      summarizeConversation({ messages, model: scriptedModel(["x"]), abortSignal }),
    ).rejects.toThrow("stop");
  });
});
