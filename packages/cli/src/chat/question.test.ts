import { describe, expect, it } from "vitest";
import { type Question, questionsOf, readReply } from "./question.ts";

const NONE = { pendingApprovals: new Map(), pendingSuspensions: new Map() };
const OPTIONS = [{ label: "red" }, { label: "green" }, { label: "blue" }];

function ask(toolName: string, suspendPayload: unknown): Question {
  const call = { toolCallId: "c", toolName, args: {}, suspendPayload };
  return questionsOf({ ...NONE, pendingSuspensions: new Map([["c", call]]) })[0]!;
}

function approval(args: unknown, more: object = {}): Question {
  const call = { toolCallId: "c", toolName: "write", args, ...more };
  return questionsOf({ ...NONE, pendingApprovals: new Map([["c", call]]) })[0]!;
}

describe("an approval", () => {
  it.each([
    ["y", "approve"],
    [" YES ", "approve"],
    ["n", "decline"],
    ["No", "decline"],
    ["a", "always_allow_category"],
    ["always", "always_allow_category"],
  ])("reads %j as %s", (typed, decision) => {
    expect(readReply(approval({}), typed)).toEqual({ type: "approval", decision });
  });

  it("takes anything else as what to do instead", () => {
    expect(readReply(approval({}), "use the other file")).toEqual({
      type: "message",
      content: "use the other file",
    });
  });

  it("shows all of a long command, without escape sequences, and who asks", () => {
    const { text } = approval({ command: `${"x".repeat(1500)}\u001b[2J; rm y` });
    expect(text).toContain("; rm y");
    expect(text).not.toContain("\u001b");
    expect(approval({}, { parentToolCallId: "p" }).text).toContain("(a subagent asks)");
  });
});

describe("a plan", () => {
  const plan = ask("submit_plan", { title: "T", plan: "1. Look" });

  it("is approved, rejected, or sent back with what to change", () => {
    expect(plan.text).toBe("**T**\n\n1. Look");
    expect(readReply(plan, "y")).toEqual({ type: "data", resumeData: { action: "approved" } });
    expect(readReply(plan, "n")).toEqual({ type: "data", resumeData: { action: "rejected" } });
    expect(readReply(plan, "look twice")).toEqual({
      type: "data",
      resumeData: { action: "rejected", feedback: "look twice" },
    });
  });
});

describe("a question", () => {
  const one = ask("ask_user", { question: "Which?", options: OPTIONS, selectionMode: "single_select" });
  const many = ask("ask_user", { question: "Which?", options: OPTIONS, selectionMode: "multi_select" });

  it("takes words as they are", () => {
    const words = ask("ask_user", { question: "Who?" });
    expect(words.kind).toBe("text");
    expect(readReply(words, " 12 ")).toEqual({ type: "data", resumeData: "12" });
  });

  it("takes a number or a label for an option, and other words as they are", () => {
    expect(readReply(one, "2")).toEqual({ type: "data", resumeData: "green" });
    expect(readReply(one, "BLUE")).toEqual({ type: "data", resumeData: "blue" });
    expect(readReply(one, "a mix, of two")).toEqual({ type: "data", resumeData: "a mix, of two" });
  });

  it("takes several where several may be chosen", () => {
    expect(readReply(many, "1, 3")).toEqual({ type: "data", resumeData: ["red", "blue"] });
    expect(readReply(many, "green,pink")).toEqual({ type: "data", resumeData: ["green", "pink"] });
  });

  it.each([
    [one, "0"],
    [one, "4"],
    [one, "1,2"],
    [many, "1,9"],
  ])("says what is wrong with a number that is none of them", (question, typed) => {
    expect(readReply(question, typed)).toMatchObject({
      type: "problem",
      message: expect.stringContaining(typed),
    });
  });

  it("of any other tool is answered with JSON or with text", () => {
    const other = ask("door", { code: 4 });
    expect(other.text).toBe('door waits for an answer: {"code":4}');
    expect(readReply(other, '{"open":true}')).toEqual({ type: "data", resumeData: { open: true } });
    expect(readReply(other, "open it")).toEqual({ type: "data", resumeData: "open it" });
  });
});
