import { describe, expect, it } from "vitest";
import type { AgentChunk, ChunkPayloads, DataChunk, PayloadChunk } from "./chunk.ts";
import { ignoreChunk } from "./chunk-kind.ts";
import { answerFrom, foldChunk, openCalls } from "./fold-chunk.ts";
import { LiveAnswer } from "./live-answer.ts";

function chunk<Type extends keyof ChunkPayloads>(type: Type, payload: ChunkPayloads[Type]): AgentChunk {
  return { type, runId: "r", from: "AGENT", payload } as AgentChunk;
}

const START = chunk("step-start", { messageId: "m", model: "big" });
const CALL = chunk("tool-call", { toolCallId: "c", toolName: "add", args: { a: 1 } });
const say = (text: string, id = "1") => chunk("text-delta", { id, text });
const finish = (reason: "stop" | "retry" | "tool-calls") =>
  chunk("step-finish", {
    stepResult: { reason },
    output: { text: "", toolCalls: [], usage: {} as never },
    metadata: {},
  });

function fold(...chunks: AgentChunk[]) {
  const answer = answerFrom();
  for (const one of chunks) foldChunk(answer, one);
  return answer;
}
const partsOf = (...chunks: AgentChunk[]) => fold(START, ...chunks).parts.slice(1);

describe("foldChunk", () => {
  it("keeps reports of observational memory out of an answer that streams meanwhile", () => {
    const report: DataChunk = { type: "data-om-buffering-start", runId: "job", from: "AGENT", data: {} };
    expect(partsOf(say("a"), report, say("b"))).toEqual([{ type: "text", text: "ab" }]);
  });

  it("keeps parts in the order they were streamed, with what the provider says about them", () => {
    const meta = { p: { signature: "s" } };
    expect(
      fold(
        START,
        chunk("reasoning-start", { id: "1" }),
        chunk("reasoning-delta", { id: "1", text: "hm" }),
        say("a"),
        chunk("reasoning-end", { id: "1", providerMetadata: meta }),
        chunk("file", { data: "AA", mimeType: "image/png", reasoning: true, providerMetadata: meta }),
        say("b"),
        chunk("source", { id: "s", sourceType: "url", url: "https://a.b", providerMetadata: meta }),
      ).parts,
    ).toEqual([
      { type: "step-start", model: "big" },
      { type: "reasoning", reasoning: "hm", details: [{ type: "text", text: "hm" }], providerMetadata: meta },
      { type: "text", text: "ab" },
      { type: "file", data: "AA", mimeType: "image/png", reasoning: true, providerMetadata: meta },
      { type: "source", source: { id: "s", sourceType: "url", url: "https://a.b" }, providerMetadata: meta },
    ]);
  });

  it("shows a call while its arguments come, where they began", () => {
    const begins = chunk("tool-call-input-streaming-start", { toolCallId: "c", toolName: "add" });
    const delta = chunk("tool-call-delta", { toolCallId: "c", argsTextDelta: '{"a"' });
    const partial = { state: "partial-call", toolCallId: "c", toolName: "add", args: '{"a"' };
    expect(partsOf(begins, delta, say("x"))[0]).toEqual({ type: "tool-invocation", toolInvocation: partial });
    expect(partsOf(begins, delta, say("x"), CALL)[0]).toMatchObject({
      toolInvocation: { state: "call", args: { a: 1 } },
    });
    expect(partsOf(begins, delta, say("x"), finish("stop"))).toEqual([{ type: "text", text: "x" }]);
  });

  it.each<[string, AgentChunk, object]>([
    [
      "a result",
      chunk("tool-result", {
        toolCallId: "c",
        toolName: "add",
        result: 3,
        providerMetadata: { p: { n: 1 } },
      }),
      { state: "result", result: 3, resultProviderMetadata: { p: { n: 1 } } },
    ],
    [
      "an error of ours, as JSON",
      chunk("tool-error", {
        toolCallId: "c",
        toolName: "add",
        error: { name: "AgentError", code: "forbidden", message: "no" },
      }),
      { state: "output-error", result: "no", isError: true, errorCode: "forbidden" },
    ],
    [
      "an error of the tool",
      chunk("tool-error", { toolCallId: "c", toolName: "add", error: new TypeError("no") }),
      { state: "output-error", result: "no", isError: true, errorCode: "tool-failed" },
    ],
    [
      "a refusal",
      chunk("tool-output-denied", {
        toolCallId: "c",
        toolName: "add",
        approval: { id: "c", approved: false, reason: "why" },
      }),
      { state: "output-denied", approval: { id: "c", approved: false, reason: "why" } },
    ],
    [
      "an abort",
      chunk("abort", {}),
      {
        state: "output-error",
        result: "The run was aborted before this call was answered.",
        isError: true,
      },
    ],
  ])("gives a call its outcome: %s", (_, outcome, expected) => {
    const answer = fold(START, CALL, outcome);
    expect(answer.parts[1]).toEqual({
      type: "tool-invocation",
      toolInvocation: { toolCallId: "c", toolName: "add", args: { a: 1 }, ...expected },
    });
    expect(openCalls(answer)).toEqual([]);
  });

  it("counts the last outcome of a call: its tool may have run again after a crash", () => {
    const fails = chunk("tool-error", { toolCallId: "c", toolName: "add", error: new Error("no") });
    const works = chunk("tool-result", { toolCallId: "c", toolName: "add", result: 3 });
    expect(partsOf(CALL, fails, works)).toEqual(partsOf(CALL, works));
  });

  it("knows which calls wait for a person, until they have an outcome", () => {
    const asks = chunk("tool-call-approval", {
      toolCallId: "c",
      toolName: "add",
      args: {},
      resumeSchema: "{}",
    });
    const answer = fold(START, CALL, asks);
    expect(answer.questions.get("c")).toMatchObject({ requiresApproval: true, toolName: "add" });
    foldChunk(answer, chunk("tool-result", { toolCallId: "c", toolName: "add", result: 3 }));
    expect(answer.questions.size).toBe(0);
  });

  it("begins a step anew whose process died, and forgets one that is turned down or stopped", () => {
    expect(fold(START, say("lost"), START, say("kept")).parts).toEqual(fold(START, say("kept")).parts);
    expect(fold(START, say("bad"), finish("retry")).parts).toEqual([]);
    expect(fold(START, say("bad"), chunk("tripwire", { reason: "no" })).parts).toEqual([]);
    expect(fold(START, say(""), chunk("abort", {})).parts).toEqual([]);
  });

  it("tells calls with the same id in two steps apart", () => {
    const first = chunk("tool-result", { toolCallId: "c", toolName: "add", result: 1 });
    const second = chunk("tool-result", { toolCallId: "c", toolName: "add", result: 2 });
    const { parts } = fold(START, CALL, first, finish("tool-calls"), START, CALL, second);
    expect(
      parts.flatMap((part) => (part.type === "tool-invocation" ? part.toolInvocation.result : [])),
    ).toEqual([1, 2]);
  });

  it("leaves transient data out", () => {
    const data: DataChunk = { type: "data-x", runId: "r", from: "AGENT", data: 1 };
    expect(partsOf(data, { ...data, transient: true })).toEqual([{ type: "data-x", data: 1 }]);
  });

  it("says which part changed, so that a reader copies no more than that", () => {
    const answer = fold(START);
    expect(
      [say("a"), say("b"), CALL, say("c"), chunk("raw", {})].map((one) => foldChunk(answer, one)),
    ).toEqual([1, 1, 2, 1, undefined]);
  });
});

describe("LiveAnswer", () => {
  it("hands out parts that never change, and the same ones until they do", () => {
    const answer = new LiveAnswer();
    for (const one of [START, say("a"), CALL]) answer.take(one);
    const before = answer.parts;
    expect(answer.parts).toBe(before);
    answer.take(say("b"));
    expect(before[1]).toEqual({ type: "text", text: "a" });
    expect(answer.parts[1]).toEqual({ type: "text", text: "ab" });
    expect(answer.parts[2]).toBe(before[2]);
  });

  it("goes on with stored steps", () => {
    const stored = fold(START, CALL).parts;
    const answer = new LiveAnswer(stored);
    answer.take(chunk("tool-result", { toolCallId: "c", toolName: "add", result: 3 }));
    expect(answer.parts[1]).toMatchObject({ toolInvocation: { state: "result" } });
    expect(stored[1]).toMatchObject({ toolInvocation: { state: "call" } });
  });
});

describe("ignoreChunk", () => {
  it("does not compile for a kind that is not named", () => {
    ignoreChunk<"call">({} as PayloadChunk<"tool-call">);
    // @ts-expect-error A result is an outcome.
    ignoreChunk<"call">({} as PayloadChunk<"tool-call" | "tool-result">);
  });
});
