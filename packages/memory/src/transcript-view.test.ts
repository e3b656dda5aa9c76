import type { StoredMessage, ToolInvocation } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import { transcriptView } from "./transcript-view.ts";

function call(invocation: Partial<ToolInvocation>): StoredMessage {
  const toolInvocation: ToolInvocation = {
    state: "result",
    toolCallId: "c",
    toolName: "pay",
    args: { card: "4242" },
    result: "receipt 99",
    ...invocation,
  };
  const parts = [{ type: "tool-invocation" as const, toolInvocation }];
  return { id: "m", role: "assistant", createdAt: new Date(0), content: { format: 2, parts } };
}

describe("transcriptView", () => {
  it("shows what was prepared for the transcript, and nothing of the raw payloads", () => {
    const message = call({
      transcript: { args: { card: "••••" }, result: "paid" },
      modelOutput: "receipt 99",
    });
    const view = JSON.stringify(transcriptView([message]));
    expect(view).toContain("••••");
    expect(view).toContain('"result":"paid"');
    expect(view).not.toMatch(/4242|receipt 99|transcript/);
  });

  it("leaves what has no transcript, and the stored message, as they are", () => {
    const plain = call({});
    expect(transcriptView([plain])[0]).toBe(plain);
    const message = call({ transcript: { args: "hidden" } });
    transcriptView([message]);
    expect(message).toEqual(call({ transcript: { args: "hidden" } }));
  });
});
