import type { AgentChunk } from "../chunk.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Display } from "./display-state.ts";
import { EventFold } from "./event-fold.ts";
import type { AgentControllerEvent, EventOf } from "./events.ts";

const chunk = (type: string, payload: object = {}, runId = "r"): AgentChunk =>
  ({ type, runId, from: "AGENT", payload }) as AgentChunk;
const data = (type: string, value: unknown): AgentChunk =>
  ({ type, runId: "r", from: "AGENT", data: value }) as AgentChunk;
const signal = (type: string, more: object = {}) =>
  data(type === "user" ? "data-user-message" : "data-signal", {
    id: `${type}-1`,
    type,
    tagName: type,
    createdAt: "2026-01-01T00:00:00.000Z",
    contents: "words",
    ...more,
  });
const finish = (reason: string) =>
  chunk("finish", { stepResult: { reason }, output: { usage: {} }, messages: {} });
const fold = (chunks: AgentChunk[]): AgentControllerEvent[] => {
  const events = new EventFold();
  return chunks.flatMap((one) => events.take(one));
};
const types = (events: AgentControllerEvent[]) => events.map(({ type }) => type);
const begun = [chunk("start"), signal("user"), chunk("step-start", { messageId: "m" })];

describe("EventFold", () => {
  it("starts a message once, however many pieces it has, and carries deltas beside it", () => {
    const events = fold([
      ...begun,
      chunk("reasoning-start", { id: "0" }),
      chunk("reasoning-delta", { id: "0", text: "hm" }),
      chunk("text-start", { id: "0" }),
      chunk("text-delta", { id: "0", text: "a" }),
      chunk("text-start", { id: "1" }),
      chunk("text-delta", { id: "1", text: "b" }),
      chunk("text-delta", { id: "0", text: "c" }),
      chunk("file", { data: "x", mimeType: "image/png" }),
      chunk("file", { data: "x", mimeType: "text/csv", filename: "f" }),
      finish("stop"),
    ]);
    expect(types(events)).toEqual([
      "agent_start",
      "message_start",
      "message_end",
      "message_start",
      "thinking",
      "message_update",
      "text",
      "message_update",
      "text",
      "message_update",
      "text",
      "message_update",
      "image",
      "message_update",
      "file",
      "message_update",
      "message_end",
      "agent_end",
    ]);
    const last = events.at(-2) as EventOf<"message_end">;
    expect(last.message).toMatchObject({ id: "m", stopReason: "complete" });
    expect(last.message.content).toEqual([
      { type: "thinking", thinking: "hm" },
      { type: "text", text: "ac" },
      { type: "text", text: "b" },
      { type: "image", data: "x", mimeType: "image/png" },
      { type: "file", data: "x", mediaType: "text/csv", filename: "f" },
    ]);
    // A message that was handed out stays what it was.
    const update = events[5] as EventOf<"message_update">;
    expect(update.message.content).toEqual([{ type: "thinking", thinking: "hm" }]);
    expect({ ...update.message }.content).toBe(update.message.content);
  });

  it("tells of tools: input, start, progress, output and end", () => {
    const call = { toolCallId: "c", toolName: "task_write" };
    const tasks = [{ id: "1", content: "a", status: "pending", activeForm: "a" }];
    const events = fold([
      ...begun,
      chunk("tool-call-input-streaming-start", call),
      chunk("tool-call-delta", { toolCallId: "c", argsTextDelta: "{" }),
      chunk("tool-call-input-streaming-end", { toolCallId: "c" }),
      chunk("tool-call", { ...call, args: {} }),
      chunk("tool-output", { toolCallId: "c", output: 1 }),
      data("data-sandbox-stdout", { toolCallId: "c", output: "o" }),
      data("data-sandbox-stderr", { toolCallId: "c", output: "e" }),
      chunk("tool-result", { ...call, result: { tasks } }),
      chunk("tool-error", { toolCallId: "d", toolName: "x", error: { message: "no", code: "tool-failed" } }),
      chunk("step-finish", { output: { usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 } } }),
    ]).filter(({ type }) => !["message_update", "message_start", "message_end"].includes(type));
    expect(types(events)).toEqual([
      "agent_start",
      "tool_input_start",
      "tool_input_delta",
      "tool_input_end",
      "tool_start",
      "tool_call",
      "tool_update",
      "shell_output",
      "shell_output",
      "tool_end",
      "tool_result",
      "task_updated",
      "tool_end",
      "tool_result",
      "usage_update",
    ]);
    expect(events.at(-3)).toMatchObject({ result: "no", isError: true });
    expect(events.at(-1)).toMatchObject({ usage: { promptTokens: 2, completionTokens: 1, totalTokens: 3 } });
  });

  it("takes waiting for permission as work, and waiting for an answer as an end", () => {
    const call = { toolCallId: "c", toolName: "t", args: {}, resumeSchema: "{}" };
    const asks = chunk("tool-call-approval", { ...call, reason: "rule" });
    expect(types(fold([...begun, asks, finish("suspended"), asks])).slice(3)).toEqual([
      "tool_approval_required",
    ]);
    const suspends = chunk("tool-call-suspended", { ...call, suspendPayload: 1 });
    const events = fold([
      ...begun,
      suspends,
      finish("suspended"),
      chunk("tool-call-decided", { toolCallId: "c", toolName: "t", approved: true }),
      chunk("tool-result", { toolCallId: "c", toolName: "t", result: 1 }),
      finish("stop"),
    ]);
    expect(types(events).slice(3)).toEqual([
      "tool_suspended",
      "agent_end",
      "tool_decided",
      "agent_start",
      "tool_end",
      "message_start",
      "tool_result",
      "message_update",
      "message_end",
      "agent_end",
    ]);
    expect(types(fold([...begun, suspends, finish("suspended"), chunk("abort")])).slice(3)).toEqual([
      "tool_suspended",
      "agent_end",
      "agent_end",
    ]);
  });

  it.each([
    [[finish("length")], "error", /too long/],
    [[finish("content-filter")], "error", /content/],
    [[finish("error")], "error", /error/],
    [[chunk("error", { error: { message: "broken", code: "model-failed" } })], "error", /broken/],
    [[chunk("tripwire", { reason: "no way" }), finish("tripwire")], "error", /no way/],
  ])("says why a run did not end well: %j", (end, reason, words) => {
    const events = fold([...begun, ...end]);
    expect(events.at(-1)).toMatchObject({ type: "agent_end", reason });
    const error = events.find(({ type }) => type === "error") as EventOf<"error">;
    expect(error.error).toBeInstanceOf(Error);
    expect(error.error.message).toMatch(words);
  });

  it("tells signals as events and as messages", () => {
    const state = { metadata: { state: { id: "tasks", mode: "snapshot", cacheKey: "k", version: 2 } } };
    const events = fold([
      chunk("start"),
      signal("state", state),
      signal("reactive", { tagName: "system-reminder", attributes: { type: "agents-md", path: "a" } }),
      signal("reactive", { tagName: "weather" }),
      signal("notification", {
        attributes: { source: "mail", type: "new", priority: "high", status: "delivered" },
      }),
      signal("notification", { tagName: "notification-summary", attributes: { pending: 3 } }),
      finish("stop"),
    ]).filter(({ type }) => !type.startsWith("message_"));
    expect(events).toMatchObject([
      {
        type: "state_signal",
        stateId: "tasks",
        mode: "snapshot",
        cacheKey: "k",
        version: 2,
        message: "words",
      },
      { type: "system_reminder", reminderType: "agents-md", path: "a", message: "words" },
      { type: "reactive_signal", tagName: "weather" },
      { type: "notification", source: "mail", kind: "new", priority: "high" },
      { type: "notification_summary", pending: 3 },
    ]);
  });

  it("neither starts nor ends a run because of work beside it", () => {
    const beside = (name: string): AgentChunk =>
      ({ ...data(`data-om-${name}`, { cycleId: "c" }), runId: "c" }) as AgentChunk;
    const events = fold([
      beside("buffering-start"),
      ...begun,
      chunk("text-start", { id: "0" }),
      chunk("text-delta", { id: "0", text: "a" }),
      beside("buffering-end"),
      beside("activation"),
      chunk("text-delta", { id: "0", text: "b" }),
      finish("stop"),
      beside("status"),
    ]);
    expect(types(events).filter((type) => /^(agent|om)_|^message_(start|end)$/.test(type))).toEqual([
      "om_buffering_start",
      "agent_start",
      "message_start",
      "message_end",
      "message_start",
      "om_buffering_end",
      "om_activation",
      "message_end",
      "agent_end",
      "om_status",
    ]);
    const { message } = events.findLast(({ type }) => type === "message_end") as EventOf<"message_end">;
    expect(message.content).toEqual([{ type: "text", text: "ab" }]);
  });

  it("passes on what observational memory, goals and tools themselves tell", () => {
    const phases = ["observation", "reflection", "buffering"].flatMap((phase) =>
      ["start", "end", "failed"].map((moment) => data(`data-om-${phase}-${moment}`, { cycleId: "c" })),
    );
    const events = fold([
      ...begun,
      ...phases,
      data("data-om-status", { generationCount: 1 }),
      data("data-om-activation", {}),
      data("data-om-thread-update", { newTitle: "T" }),
      data("data-om-unknown", {}),
      chunk("goal", { met: true }),
      data("data-controller-event", { type: "info", message: "from a tool" }),
      data("data-app", {}),
    ]).slice(3);
    expect(types(events)).toEqual([
      ...["observation", "reflection", "buffering"].flatMap((phase) => [
        ...["start", "end", "failed"].map((moment) => `om_${phase}_${moment}`),
        "error",
      ]),
      "om_status",
      "om_activation",
      "om_thread_title_updated",
      "goal_evaluation",
      "info",
    ]);
  });

  it("tells reflections that a run waited for under their own names, and failures as errors, too", () => {
    const about = { cycleId: "c", operationType: "reflection" };
    const events = fold([
      ...begun,
      data("data-om-observation-start", { ...about, tokensToObserve: 7 }),
      data("data-om-observation-end", { ...about, observationTokens: 3 }),
      data("data-om-observation-failed", { ...about, error: "no" }),
    ]).slice(3);
    expect(events).toMatchObject([
      { type: "om_reflection_start", tokensToReflect: 7 },
      { type: "om_reflection_end", compressedTokens: 3 },
      { type: "om_reflection_failed" },
      { type: "error", errorType: "observational-memory", retryable: true },
    ]);
  });

  it("makes as many events of long messages as of short ones, and copies none", () => {
    const events = new EventFold();
    for (const one of [...begun, chunk("text-start", { id: "0" })]) events.take(one);
    const display = new Display();
    let made = 0;
    for (let count = 0; count < 20_000; count++)
      for (const event of events.take(chunk("text-delta", { id: "0", text: "x".repeat(20) }))) {
        made++;
        display.take(event);
      }
    expect(made).toBe(40_000);
    const [part] = display.get().currentMessage!.content;
    expect(part).toMatchObject({ text: "x".repeat(400_000) });
  });

  const call = (toolCallId: string) => chunk("tool-call", { toolCallId, toolName: "look", args: {} });
  const result = (toolCallId: string) => chunk("tool-result", { toolCallId, toolName: "look", result: 1 });

  it("adds a result to the message of its call, also when a process that took over says something before", () => {
    const events = fold([
      ...begun,
      call("a"),
      call("b"),
      result("a"),
      signal("state"),
      result("a"),
      result("b"),
    ]);
    expect(events.filter(({ type }) => type === "tool_end")).toHaveLength(2);
    const last = events.findLast(
      (event): event is EventOf<"message_update"> => event.type === "message_update",
    );
    expect(last!.message).toMatchObject({ id: "m" });
    expect(last!.message.content).toMatchObject([
      { type: "tool_call", id: "a" },
      { type: "tool_call", id: "b" },
      { type: "tool_result", id: "a" },
      { type: "tool_result", id: "b" },
    ]);
  });

  it("takes back what a step said whose process died, also when another process says something before", () => {
    const events = fold([
      ...begun,
      chunk("text-start", { id: "0" }),
      chunk("text-delta", { id: "0", text: "lost" }),
      signal("state"),
      chunk("step-start", { messageId: "n" }),
      chunk("text-start", { id: "0" }),
      chunk("text-delta", { id: "0", text: "kept" }),
      finish("stop"),
    ]);
    const ends = events.flatMap((event) => (event.type === "message_end" ? [event.message] : []));
    expect(ends.map(({ id, content }) => [id, content.length])).toEqual([
      ["user-1", 1],
      ["state-1", 1],
      ["m", 0],
      ["n", 1],
    ]);
  });

  it("takes back what a step said whose process died, once the step is taken again", () => {
    const step = (id: string, text: string) => [
      chunk("step-start", { messageId: "m" }),
      chunk("text-start", { id }),
      chunk("text-delta", { id, text }),
    ];
    const call = { toolCallId: "c", toolName: "t", args: {} };
    const events = fold([
      ...begun,
      chunk("text-start", { id: "0" }),
      chunk("text-delta", { id: "0", text: "first " }),
      chunk("step-finish", { stepResult: { reason: "tool-calls" }, output: { usage: {} } }),
      ...step("0", "I beg"),
      chunk("tool-call", call),
      ...step("0", "I begin."),
      finish("stop"),
    ]);
    const last = events.at(-2) as EventOf<"message_end">;
    expect(last.message.content).toEqual([
      { type: "text", text: "first " },
      { type: "text", text: "I begin." },
    ]);
    expect(events.filter(({ type }) => type === "tool_end")).toMatchObject([
      { toolCallId: "c", isError: true },
    ]);
    const shown = events.filter(({ type }) => type === "message_start" || type === "message_end");
    // What a person said, and one answer.
    expect(types(shown)).toEqual(["message_start", "message_end", "message_start", "message_end"]);
  });

  it("survives any chunks in any order", () => {
    const any = fc.oneof(
      fc
        .constantFrom("start", "step-start", "abort", "text-start", "tool-call-decided")
        .map((type) =>
          chunk(type, { id: "0", toolCallId: "c", toolName: "t", approved: true, messageId: "m" }),
        ),
      fc.string().map((text) => chunk("text-delta", { id: "0", text })),
      fc.constantFrom("stop", "suspended", "length", "aborted").map(finish),
      fc
        .constantFrom("tool-call-approval", "tool-call-suspended", "tool-result", "tool-call")
        .map((type) => chunk(type, { toolCallId: "c", toolName: "t", args: {}, result: 1 })),
      fc.constantFrom("user", "state", "reactive", "notification").map((type) => signal(type)),
    );
    fc.assert(
      fc.property(fc.array(any), (chunks) => {
        const display = new Display();
        let started = 0;
        for (const event of fold(chunks)) {
          display.take(event);
          // Others begin and end at once, maybe while an answer is written.
          if ("message" in event && (event.message as { role?: string }).role !== "assistant") continue;
          if (event.type === "message_start") started++;
          if (event.type === "message_end") started--;
          expect([0, 1]).toContain(started);
        }
        display.get();
      }),
    );
  });
});
