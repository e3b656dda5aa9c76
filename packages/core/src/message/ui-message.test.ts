import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { convertToModelMessages, type UIMessage, validateUIMessages } from "ai";
import { convertToLanguageModelPrompt } from "ai/internal";
import { describe, expect, it } from "vitest";
import { realSystem } from "../system.ts";
import { type MessagesInput, toStoredMessages } from "./message-input.ts";
import { MessageList } from "./message-list.ts";

const prompt = (input: MessagesInput) => new MessageList(realSystem).add(input, "input").toPrompt();
const clean = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** What a model reads when the AI SDK converts the messages. */
async function theirs(messages: UIMessage[]): Promise<LanguageModelV4Prompt> {
  return convertToLanguageModelPrompt({
    prompt: { instructions: undefined, messages: await convertToModelMessages(messages) } as never,
    supportedUrls: { "*/*": [/.*/] },
    download: undefined,
  });
}

type Part = UIMessage["parts"][number];

const user = (...parts: Part[]): UIMessage => ({ id: "u", role: "user", parts });
const assistant = (...parts: Part[]): UIMessage => ({ id: "a", role: "assistant", parts });
const meta = { providerMetadata: { acme: { key: "v" } } };
const call = (state: string, more: object = {}): Part =>
  ({ type: "tool-pay", toolCallId: "c", state, input: { n: 1 }, ...more }) as Part;

const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const CASES: [string, UIMessage][] = [
  ["text", user({ type: "text", text: "hi", ...meta })],
  [
    "a file as a data URL",
    user({ type: "file", mediaType: "image/png", url: `data:image/png;base64,${PNG}` }),
  ],
  [
    "a file at an address",
    user({ type: "file", mediaType: "image/png", url: "https://a.example/b.png", ...meta }),
  ],
  [
    "a file that a provider has",
    user({
      type: "file",
      mediaType: "application/pdf",
      url: "",
      filename: "a.pdf",
      providerReference: { acme: "f1" },
    }),
  ],
  [
    "a file of the assistant",
    assistant({ type: "file", mediaType: "image/png", url: `data:image/png;base64,${PNG}` }),
  ],
  [
    "reasoning",
    assistant({ type: "reasoning", text: "hm", state: "done", ...meta }, { type: "text", text: "so" }),
  ],
  [
    "a file of the reasoning",
    assistant({
      type: "reasoning-file",
      mediaType: "image/png",
      url: `data:image/png;base64,${PNG}`,
      ...meta,
    }),
  ],
  ["custom content", assistant({ type: "custom", kind: "acme.compaction", ...meta })],
  [
    "source-url",
    assistant(
      { type: "text", text: "see" },
      { type: "source-url", sourceId: "s", url: "https://a.example", title: "A", ...meta },
    ),
  ],
  [
    "source-document",
    assistant(
      { type: "text", text: "see" },
      { type: "source-document", sourceId: "s", mediaType: "application/pdf", title: "A", filename: "a.pdf" },
    ),
  ],
  ["data of the app", assistant({ type: "text", text: "see" }, { type: "data-chart", data: [1, 2] })],
  [
    "several steps",
    assistant(
      { type: "step-start" },
      { type: "text", text: "one" },
      call("output-available", { output: { ok: true } }),
      { type: "step-start" },
      { type: "text", text: "two" },
    ),
  ],
  [
    "a message sent in between",
    assistant(
      { type: "step-start" },
      { type: "text", text: "one" },
      { type: "steering-message", id: "x", parts: [{ type: "text", text: "wait" }] },
      { type: "step-start" },
      { type: "text", text: "two" },
    ),
  ],
  ["a call that is still written", assistant({ type: "text", text: "a" }, call("input-streaming"))],
  [
    "a call with a result",
    assistant(call("output-available", { output: "sun", callProviderMetadata: meta.providerMetadata })),
  ],
  [
    "a call that was approved",
    assistant(call("output-available", { output: 1, approval: { id: "p", approved: true } })),
  ],
  ["a call that failed", assistant(call("output-error", { errorText: "no" }))],
  [
    "a call of a tool that is not known",
    assistant({
      type: "dynamic-tool",
      toolName: "x",
      toolCallId: "c",
      state: "output-available",
      input: {},
      output: [1],
    }),
  ],
  [
    "a call that the provider executed",
    assistant(
      call("output-available", {
        output: { type: "found" },
        providerExecuted: true,
        callProviderMetadata: { acme: { id: "1" } },
        resultProviderMetadata: { acme: { id: "2" } },
      }),
    ),
  ],
];

describe("UI messages", () => {
  it.each(CASES)("with %s are read as the AI SDK reads them", async (_, message) => {
    await validateUIMessages({ messages: [message] });
    const expected = clean(await theirs([message]));
    expect(clean(prompt([message]))).toEqual(expected);
    const json = JSON.parse(JSON.stringify(message));
    expect(clean(prompt(toStoredMessages([json], realSystem)))).toEqual(expected);
  });

  it("keep their sources", () => {
    const named = (name: string) => CASES.find(([given]) => given === name)![1];
    const parts = toStoredMessages([named("source-url"), named("source-document")], realSystem).flatMap(
      ({ content }) => content.parts,
    );
    expect(parts.filter(({ type }) => type === "source")).toEqual([
      {
        type: "source",
        source: { id: "s", sourceType: "url", url: "https://a.example", title: "A" },
        ...meta,
      },
      {
        type: "source",
        source: {
          id: "s",
          sourceType: "document",
          mimeType: "application/pdf",
          title: "A",
          filename: "a.pdf",
        },
      },
    ]);
    expect(() => prompt([assistant({ type: "source-url" } as Part)])).toThrow(
      /source-url part needs sourceId/,
    );
  });

  const outputOf = (message: UIMessage) => {
    const tool = prompt([message, "next"]).find(({ role }) => role === "tool");
    return (tool as { content: { output: unknown }[] } | undefined)?.content[0]?.output;
  };

  it("tell the model that a call was denied, and why", () => {
    const approval = { id: "p", approved: false, reason: "Too dear." };
    const denied = { type: "execution-denied", reason: "Too dear." };
    expect(outputOf(assistant(call("output-denied", { approval })))).toEqual(denied);
    expect(outputOf(assistant(call("approval-responded", { approval })))).toEqual(denied);
    expect(outputOf(assistant(call("output-denied", { approval: { id: "p", approved: false } })))).toEqual({
      type: "execution-denied",
    });
  });

  it("tell the model that a call waits for approval, and never that it was interrupted", () => {
    const waiting = outputOf(assistant(call("approval-requested", { approval: { id: "p" } })));
    expect(waiting).toEqual({ type: "error-text", value: expect.stringContaining("approv") });
    expect(JSON.stringify(waiting)).not.toContain("interrupted");
    expect(JSON.stringify(outputOf(assistant(call("input-available"))))).toContain("interrupted");
  });
});
