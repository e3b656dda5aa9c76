import type {
  AgentControllerEvent,
  AgentControllerMessage,
  AgentControllerMessageContent,
} from "@selvedge/protocol/session";
import { describe, expect, it } from "vitest";
import { Transcript } from "./transcript.ts";

const NONE = { pendingApprovals: new Map(), pendingSuspensions: new Map() };

function message(
  id: string,
  content: AgentControllerMessageContent[] | string,
  role: AgentControllerMessage["role"] = "assistant",
): AgentControllerMessage {
  const parts = typeof content === "string" ? [{ type: "text" as const, text: content }] : content;
  return { id, role, content: parts, createdAt: new Date(0) };
}

const event = (type: "message_start" | "message_update" | "message_end", one: AgentControllerMessage) =>
  ({ type, message: one }) as AgentControllerEvent;

const shown = (transcript: Transcript, waiting = NONE) =>
  transcript
    .blocks(waiting)
    .map((block) => (block.kind === "tool" ? `${block.call.name}:${block.call.status}` : block.text));

const CALL: AgentControllerMessageContent = { type: "tool_call", id: "c", name: "t", args: {} };

describe("Transcript", () => {
  it("puts stored messages before what came while they were read, and each only once", () => {
    const transcript = new Transcript();
    transcript.take(event("message_start", message("b", "live")));
    transcript.load([message("a", "stored", "user"), message("b", "older")], message("b", "live and more"));
    expect(shown(transcript)).toEqual(["stored", "live and more"]);
    transcript.load([message("a", "stored", "user"), message("b", "older"), message("c", "missed")], null);
    expect(shown(transcript)).toEqual(["stored", "live and more", "missed"]);
  });

  it("keeps the beginning of a message that was closed and goes on", () => {
    const transcript = new Transcript();
    transcript.take(event("message_start", message("a", "first")));
    transcript.take(event("message_end", message("a", "first")));
    transcript.take(event("message_start", message("a", "")));
    transcript.take(event("message_update", message("a", "second")));
    expect(shown(transcript)).toEqual(["first", "second"]);
  });

  it("knows what came of a call in a message that is not stored yet", () => {
    const transcript = new Transcript();
    const result: AgentControllerMessageContent = {
      type: "tool_result",
      id: "c",
      name: "t",
      result: 1,
      isError: false,
    };
    transcript.load([], message("a", [CALL, result]));
    transcript.take(event("message_end", message("a", [CALL, result])));
    expect(shown(transcript)).toEqual(["t:done"]);
  });

  it("shows how far a call is", () => {
    const transcript = new Transcript();
    transcript.take(event("message_start", message("a", [CALL])));
    expect(shown(transcript)).toEqual(["t:running"]);
    const call = { toolCallId: "c", toolName: "t", args: {} };
    expect(shown(transcript, { ...NONE, pendingApprovals: new Map([["c", call]]) })).toEqual(["t:waiting"]);
    transcript.take({ type: "tool_end", toolCallId: "c", result: { isError: true }, isError: false });
    expect(shown(transcript)).toEqual(["t:failed"]);
    transcript.take({ type: "tool_end", toolCallId: "c", result: 1, isError: false });
    expect(shown(transcript)).toEqual(["t:done"]);
  });

  it("shows a call of a run that was left as stopped", () => {
    const transcript = new Transcript();
    transcript.take(event("message_start", message("a", [CALL])));
    transcript.take({ type: "agent_end", runId: "r", reason: "suspended" });
    expect(shown(transcript)).toEqual(["t:running"]);
    transcript.take({ type: "agent_end", runId: "r", reason: "aborted" });
    expect(shown(transcript)).toEqual(["t:stopped"]);
  });

  it("says which blocks do not change any more", () => {
    const transcript = new Transcript();
    const parts = [{ type: "text" as const, text: "one" }, CALL, { type: "text" as const, text: "two" }];
    transcript.take(event("message_start", message("a", parts)));
    expect(transcript.blocks(NONE).map(({ isFinal }) => isFinal)).toEqual([true, false, false]);
    transcript.take({ type: "tool_end", toolCallId: "c", result: 1, isError: false });
    transcript.take(event("message_end", message("a", parts)));
    expect(transcript.blocks(NONE).every(({ isFinal }) => isFinal)).toBe(true);
  });

  it("keeps a note where it was made, within a message that goes on", () => {
    const transcript = new Transcript();
    const parts = [{ type: "text" as const, text: "one" }];
    transcript.take(event("message_start", message("a", parts)));
    transcript.add("info", "note");
    transcript.take(event("message_end", message("a", [...parts, CALL])));
    transcript.add("info", "after");
    expect(shown(transcript)).toEqual(["one", "note", "t:stopped", "after"]);
  });

  it("leaves out escape sequences and what is not for people", () => {
    const transcript = new Transcript();
    const state = { type: "state_signal" as const, stateId: "s", mode: "snapshot", message: "hidden" };
    const news = { type: "notification" as const, message: "a\u001b[2Jb", source: "mail" };
    transcript.load([message("a", [state], "system"), message("b", [news], "system")], null);
    transcript.add("error", "c\u001b[2Jd");
    expect(shown(transcript)).toEqual(["News from mail: ab", "cd"]);
  });
});
