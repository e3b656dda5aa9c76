import type { ModelCallOptions } from "../model.ts";

export const BYTES: Uint8Array = new Uint8Array([1, 2, 3]);
export const URL_OF_FILE: URL = new URL("https://example.test/a.pdf");

/** A call with every kind of v4 prompt content. */
export const RICH_CALL: ModelCallOptions = {
  temperature: 0.3,
  reasoning: "high",
  tools: [
    {
      type: "function",
      name: "weather",
      inputSchema: { type: "object" },
      strict: true,
      inputExamples: [{ input: { city: "Oslo" } }],
    },
    { type: "provider", id: "openai.web_search", name: "search", args: { depth: 1 } },
  ],
  prompt: [
    { role: "system", content: "Be kind.", providerOptions: { a: { cache: true } } },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: BYTES }, filename: "a.png" },
        { type: "file", mediaType: "application/pdf", data: { type: "url", url: URL_OF_FILE } },
        { type: "file", mediaType: "text/plain", data: { type: "text", text: "hé" } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm", providerOptions: { a: { signature: "s" } } },
        { type: "custom", kind: "a.thing" },
        { type: "reasoning-file", mediaType: "image/png", data: { type: "data", data: "AA==" } },
        { type: "tool-call", toolCallId: "1", toolName: "weather", input: { city: "Oslo" } },
        { type: "tool-call", toolCallId: "2", toolName: "weather", input: {} },
      ],
    },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "1",
          toolName: "weather",
          output: {
            type: "content",
            value: [
              { type: "text", text: "cold" },
              { type: "file", mediaType: "image/png", data: { type: "data", data: BYTES } },
              {
                type: "file",
                mediaType: "application/pdf",
                data: { type: "data", data: "AQID" },
                filename: "b.pdf",
              },
              { type: "file", mediaType: "application/pdf", data: { type: "url", url: URL_OF_FILE } },
              { type: "file", mediaType: "text/plain", data: { type: "text", text: "note" } },
            ],
          },
        },
        {
          type: "tool-result",
          toolCallId: "2",
          toolName: "weather",
          output: { type: "execution-denied", reason: "not now" },
        },
        { type: "tool-approval-response", approvalId: "x", approved: true },
      ],
    },
    { role: "tool", content: [{ type: "tool-approval-response", approvalId: "y", approved: false }] },
  ],
};
