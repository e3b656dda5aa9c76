import type { MessagePart, StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { validateUIMessages } from "ai";
import { describe, expect, it } from "vitest";
import { realSystem } from "../system.ts";
import { MessageList } from "./message-list.ts";
import { toUIMessage } from "./to-ui-message.ts";

function message(...parts: MessagePart[]): StoredMessage {
  const content = { format: 2 as const, parts, metadata: { incomplete: true } };
  return { id: "m", role: "assistant", createdAt: new Date(0), content };
}

function call(invocation: Partial<ToolInvocation>): MessagePart {
  const base: ToolInvocation = { state: "result", toolCallId: "c", toolName: "pay", args: { n: 1 } };
  return { type: "tool-invocation", toolInvocation: { ...base, ...invocation } };
}

describe("toUIMessage", () => {
  it("keeps id, role, time and metadata", () => {
    const signal: StoredMessage = { ...message({ type: "text", text: "hi" }), role: "signal" };
    expect(toUIMessage(signal)).toEqual({
      id: "m",
      role: "user",
      parts: [{ type: "text", text: "hi", state: "done" }],
      metadata: { incomplete: true, createdAt: new Date(0) },
    });
  });

  it("draws tool calls in the state they are in", () => {
    const { parts } = toUIMessage(
      message(
        call({ result: "ok" }),
        call({ state: "call" }),
        call({ isError: true, result: "boom" }),
        call({ state: "output-denied", approval: { id: "c", approved: false } }),
        call({ state: "partial-call" }),
      ),
    );
    expect(parts).toMatchObject([
      { type: "tool-pay", state: "output-available", input: { n: 1 }, output: "ok" },
      { state: "input-available" },
      { state: "output-error", errorText: "boom" },
      { state: "output-denied", approval: { approved: false } },
    ]);
    expect(parts).toHaveLength(4);
  });

  it("makes files and sources readable for a browser", () => {
    const source = { id: "s", sourceType: "url" as const, url: "https://example.com", title: "E" };
    const parts = [
      { type: "file" as const, data: "AAAA", mimeType: "image/png" },
      { type: "source" as const, source },
    ];
    expect(toUIMessage(message(...parts)).parts).toEqual([
      { type: "file", mediaType: "image/png", url: "data:image/png;base64,AAAA" },
      { type: "source-url", sourceId: "s", url: "https://example.com", title: "E" },
    ]);
  });

  it("can be sent back: the AI SDK accepts it, and a model reads the same", async () => {
    const providerMetadata = { acme: { signature: "s" } };
    const approval = { id: "c4", approved: false, reason: "Too dear." };
    const full = message(
      { type: "step-start" },
      { type: "reasoning", reasoning: "hm", details: [], providerMetadata },
      { type: "text", text: "see", providerMetadata },
      { type: "source", source: { id: "s1", sourceType: "url", url: "https://a.example" }, providerMetadata },
      { type: "source", source: { id: "s2", sourceType: "document", mimeType: "application/pdf" } },
      { type: "file", data: "iVBORw0KGgo=", mimeType: "image/png", filename: "a.png", providerMetadata },
      { type: "file", data: "iVBORw0KGgo=", mimeType: "image/png", reasoning: true },
      { type: "custom", kind: "acme.compaction", providerMetadata },
      { type: "data-chart", data: [1] },
      call({ toolCallId: "c1", result: { ok: true } }),
      call({ toolCallId: "c2", state: "output-error", isError: true, result: "boom" }),
      call({
        toolCallId: "c3",
        providerExecuted: true,
        result: [1],
        resultProviderMetadata: providerMetadata,
      }),
      call({ toolCallId: "c4", state: "output-denied", approval }),
      call({ toolCallId: "c5", state: "call" }),
      call({ toolCallId: "c6", state: "approval-requested", approval: { id: "c6" } }),
      { type: "step-start" },
      { type: "text", text: "done" },
    );
    const shown = JSON.parse(JSON.stringify(toUIMessage(full)));
    await validateUIMessages({ messages: [shown] });
    const read = (given: StoredMessage) => new MessageList(realSystem).add(given as never, "input");
    expect(read(shown).toPrompt()).toEqual(read(full).toPrompt());
    const [back] = read(shown).get.all.db();
    expect(back!.createdAt).toEqual(full.createdAt);
    expect(toUIMessage(back!).parts).toEqual(toUIMessage(full).parts);
  });
});
