import type { AgentControllerMessage } from "@selvedge/protocol/session";
import { describe, expect, it } from "vitest";
import { fromSent, toThreadMessage } from "./to-thread-message.ts";

const createdAt = new Date("2026-01-01T00:00:00.000Z");
const message = (
  role: AgentControllerMessage["role"],
  content: AgentControllerMessage["content"],
  more: Partial<AgentControllerMessage> = {},
): AgentControllerMessage => ({ id: "m", role, content, createdAt, ...more });

describe("toThreadMessage", () => {
  it("puts a call and its result together, in the place of the call", () => {
    const { parts } = toThreadMessage(
      message("assistant", [
        { type: "thinking", thinking: "hm" },
        { type: "tool_call", id: "a", name: "look", args: { at: 1 } },
        { type: "tool_call", id: "b", name: "wait", args: {} },
        { type: "tool_result", id: "a", name: "look", result: "seen", isError: true },
        { type: "text", text: "So." },
      ]),
      false,
    );
    expect(parts).toMatchObject([
      { type: "reasoning", reasoning: "hm" },
      {
        type: "tool-invocation",
        toolInvocation: { toolCallId: "a", args: { at: 1 }, result: "seen", isError: true },
      },
      { type: "tool-invocation", toolInvocation: { toolCallId: "b", state: "call" } },
      { type: "text", text: "So." },
    ]);
  });

  it("gives the same object for the same message, until it is no longer written", () => {
    const live = message("assistant", [{ type: "text", text: "So" }]);
    const row = toThreadMessage(live, true);
    expect(row.state).toBe("streaming");
    expect(toThreadMessage(live, true)).toBe(row);
    expect(toThreadMessage(live, false).state).toBe("done");
    expect(toThreadMessage(message("assistant", [], { stopReason: "aborted" }), true)).toMatchObject({
      state: "done",
      metadata: { incomplete: true },
    });
  });

  it("shows signals by their kind, and what was sent with its files", () => {
    const state = message("system", [
      { type: "state_signal", stateId: "notes", mode: "snapshot", message: "x" },
    ]);
    expect(toThreadMessage(state, false)).toMatchObject({
      role: "signal",
      type: "notes",
      metadata: { state: {} },
      parts: [{ type: "text", text: "x" }],
    });
    const news = message("system", [{ type: "notification", source: "mail", message: "New" }]);
    expect(toThreadMessage(news, false).attributes).toEqual({ source: "mail" });
    const files = [{ data: "eA==", mediaType: "text/plain", filename: "a.txt" }];
    expect(fromSent({ id: "s", content: "", files, createdAt, state: "sending" }).parts).toEqual([
      { type: "file", data: "eA==", mimeType: "text/plain", filename: "a.txt" },
    ]);
  });
});
