import type { AgentChunk, ChunkPayloads, MessagePart, PayloadChunk } from "@selvedge/protocol";
import { describe, expect, it } from "vitest";
import type { RunLimits } from "./run-options.ts";
import { StepBuilder } from "./step-builder.ts";

function chunk<Type extends keyof ChunkPayloads>(type: Type, payload: ChunkPayloads[Type]): AgentChunk {
  return { type, runId: "r", from: "AGENT", payload } as AgentChunk;
}
const START = chunk("step-start", { messageId: "m", model: "big" }) as PayloadChunk<"step-start">;
const say = (text: string) => chunk("text-delta", { id: "1", text });
const call = (toolCallId: string) => chunk("tool-call", { toolCallId, toolName: "add", args: { a: 1 } });
const result = (toolCallId: string) =>
  chunk("tool-result", { toolCallId, toolName: "add", args: { a: 1 }, result: 2 });

function built(...chunks: AgentChunk[]): StepBuilder {
  const step = StepBuilder.begin(1, START);
  for (const one of chunks) step.take(one);
  return step;
}
const openIds = (step: StepBuilder): string[] => step.openCalls().map(({ toolCallId }) => toolCallId);
const limits = (change: Partial<RunLimits>): RunLimits =>
  ({ toolCalls: 2, toolInputBytes: 10, ...change }) as RunLimits;
const modelCall = (input: string) =>
  ({ type: "tool-call", toolCallId: "c", toolName: "add", input }) as Parameters<StepBuilder["limitCall"]>[0];

describe("a step", () => {
  it.each<[string, AgentChunk[], { text: string; calls: string[]; open: string[] }]>([
    ["of nothing", [], { text: "", calls: [], open: [] }],
    ["of text", [say("a"), say("b")], { text: "ab", calls: [], open: [] }],
    ["with an open call", [say("a"), call("c")], { text: "a", calls: ["c"], open: ["c"] }],
    [
      "with one of two calls answered",
      [call("c"), call("d"), result("d")],
      { text: "", calls: ["c", "d"], open: ["c"] },
    ],
    ["with a call that was sent twice", [call("c"), call("c")], { text: "", calls: ["c"], open: ["c"] }],
    ["with a result that nothing asked for", [result("x")], { text: "", calls: [], open: [] }],
  ])("%s has its text and its calls", (_, chunks, expected) => {
    const step = built(...chunks);
    const calls = step.calls.map(({ toolCallId }) => toolCallId);
    expect({ text: step.text, calls, open: openIds(step) }).toEqual(expected);
  });

  it("lists results in the order in which they came", () => {
    const step = built(call("c"), call("d"), result("d"), result("c")).build();
    expect(step.toolResults.map(({ toolCallId }) => toolCallId)).toEqual(["d", "c"]);
  });

  it.each([
    ["fits", "{}", 0, "{}"],
    ["is too long", `"${"x".repeat(20)}"`, 0, "cut"],
    ["is one call too many", "{}", 2, "refused"],
  ])("limits a call that %s", (_, input, before, expected) => {
    const step = built(...Array.from({ length: before }, (__, index) => call(`c${index}`)));
    const limited = () => step.limitCall(modelCall(input), limits({}));
    if (expected === "refused") {
      expect(limited).toThrow("limits.toolCalls");
      return;
    }
    const part = limited() as { input: string };
    const isTooLong = step.tooLong({ toolCallId: "c", toolName: "add", args: {} }) !== undefined;
    expect(isTooLong).toBe(expected === "cut");
    if (expected !== "cut") expect(part.input).toBe(expected);
  });

  it("has no limit on calls where it is 0", () => {
    const step = built(call("a"), call("b"), call("c"));
    expect(step.limitCall(modelCall("{}"), limits({ toolCalls: 0 }))).toMatchObject({ input: "{}" });
  });

  it("keeps the beginning of a reply that was too long", () => {
    const step = built(say("x".repeat(10_000)));
    step.cut(1_000);
    expect(step.text).toMatch(/^x{500,1000}$/);
  });

  it("drops calls that a processor took out, and takes over arguments that it changed", () => {
    const step = built(call("c"), call("d"));
    const kept = step.parts.filter(
      (part) => part.type !== "tool-invocation" || part.toolInvocation.toolCallId === "d",
    );
    const changed = structuredClone(kept) as MessagePart[];
    for (const part of changed) if (part.type === "tool-invocation") part.toolInvocation.args = { a: 9 };
    step.adopt(changed);
    expect(step.calls).toEqual([{ toolCallId: "d", toolName: "add", args: { a: 9 } }]);
  });

  it("is continued where it was stored, with the calls that are still open", () => {
    const parts = structuredClone(built(call("c"), call("d"), result("c")).parts);
    const step = StepBuilder.resume(3, parts);
    expect(step).toMatchObject({ stepNumber: 3, finished: true, finishReason: "tool-calls" });
    expect(step.calls.map(({ toolCallId }) => toolCallId)).toEqual(["d"]);
    step.take(result("d"));
    expect(openIds(step)).toEqual([]);
  });
});
