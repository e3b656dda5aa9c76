import { getEventListeners } from "node:events";
import type { UnderlyingSource } from "node:stream/web";
import { type ScriptedReply, scriptedModel, virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { LIMITS, open, readAll, textOf } from "./__fixtures__/open.ts";
import { AgentError } from "../errors.ts";
import type { LanguageModel, ModelPart } from "./model.ts";

// stream-start, text-start, two deltas, text-end, finish
const SIX_PARTS: ScriptedReply = { text: ["a", "b"] };
const INDICES = [0, 1, 2, 3, 4, 5];
const OUTPUT_FROM = 2;

/** Runs a reply to whatever end it has, and reports that end and what is left behind. */
async function endOf(
  model: LanguageModel,
  abortAfter?: number,
): Promise<{ outcome: unknown; parts: ModelPart[]; left: number }> {
  const system = virtualSystem();
  const controller = new AbortController();
  const parts: ModelPart[] = [];
  const ending = (async () => {
    if (abortAfter === 0) queueMicrotask(() => controller.abort("left"));
    const reply = await open(model, { system, abortSignal: controller.signal });
    for (let part = await reply.read(); part; part = await reply.read()) {
      parts.push(part);
      if (parts.length === abortAfter) controller.abort("left");
    }
    return parts.at(-1)?.type === "finish" ? "complete" : "incomplete";
  })();
  const outcome = await system
    .until(ending)
    .catch((thrown: unknown) => (AgentError.is(thrown) ? thrown.code : thrown));
  await system.settle();
  return { outcome, parts, left: system.pending + getEventListeners(controller.signal, "abort").length };
}

describe("a fault at any part of a reply leaves no timer and no listener", () => {
  it.each(INDICES)("broken stream after %i parts", async (errorAfter) => {
    const end = await endOf(scriptedModel([{ ...SIX_PARTS, errorAfter }]));
    expect(end).toMatchObject({ outcome: "model-failed", left: 0 });
    if (errorAfter >= OUTPUT_FROM) expect(end.parts).toHaveLength(errorAfter);
  });

  it.each(INDICES)("stream that ends after %i parts", async (cutAfter) => {
    const end = await endOf(scriptedModel([{ ...SIX_PARTS, cutAfter }]));
    expect(end).toMatchObject({ outcome: cutAfter < OUTPUT_FROM ? "model-failed" : "incomplete", left: 0 });
  });

  it.each(
    INDICES.flatMap(
      (after) =>
        [
          [after, false],
          [after, true],
        ] as const,
    ),
  )("silence after %i parts (deaf to its signal: %s)", async (after, ignoreAbort) => {
    const end = await endOf(scriptedModel([{ ...SIX_PARTS, hang: { after } }], { ignoreAbort }));
    expect(end).toMatchObject({ outcome: "model-timeout", left: 0 });
  });

  it.each(INDICES)("error part after %i parts", async (at) => {
    const whole = await readAll(await open(scriptedModel([SIX_PARTS])));
    const parts = [...whole.slice(0, at), { type: "error" as const, error: "boom" }];
    const end = await endOf(scriptedModel([{ parts }]));
    expect(end).toMatchObject({ outcome: at < OUTPUT_FROM ? "model-failed" : "incomplete", left: 0 });
    if (at >= OUTPUT_FROM) expect(end.parts.at(-1)).toEqual({ type: "error", error: "boom" });
  });

  it.each(
    INDICES.flatMap(
      (after) =>
        [
          [after, false],
          [after, true],
        ] as const,
    ),
  )("abort after %i parts (deaf to its signal: %s)", async (after, ignoreAbort) => {
    const end = await endOf(
      scriptedModel([{ ...SIX_PARTS, hang: { after: after + 1 } }], { ignoreAbort }),
      after,
    );
    expect(end).toMatchObject({ outcome: "left", left: 0 });
  });
});

describe("models that misbehave", () => {
  function misbehaving(doStream: () => unknown): LanguageModel {
    return { ...scriptedModel([]), doStream } as LanguageModel;
  }
  const stream = (source: UnderlyingSource<ModelPart>): ReadableStream => new ReadableStream(source);
  const text: ModelPart[] = [
    { type: "text-start", id: "1" },
    { type: "text-delta", id: "1", delta: "x" },
  ];
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const finish: ModelPart = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage };
  const start = (parts: ModelPart[]) => (controller: ReadableStreamDefaultController<ModelPart>) => {
    for (const part of parts) controller.enqueue(part);
  };

  it.each<[string, () => unknown, unknown]>([
    [
      "throws before it returns a promise",
      () => {
        throw new Error("sync");
      },
      "model-failed",
    ],
    ["rejects with an error", () => Promise.reject(new Error("no")), "model-failed"],
    ["rejects with a string", () => Promise.reject("no"), "model-failed"],
    ["rejects with nothing", () => Promise.reject(), "model-failed"],
    ["never answers", () => new Promise(() => {}), "model-timeout"],
    ["answers with nothing", () => Promise.resolve(undefined), "model-failed"],
    ["answers without a stream", () => Promise.resolve({}), "model-failed"],
    [
      "answers with a stream that is already being read",
      async () => {
        const used = stream({});
        used.getReader();
        return { stream: used };
      },
      "model-failed",
    ],
    [
      "opens a stream that throws at once",
      async () => ({
        stream: stream({
          pull() {
            throw new Error("pull");
          },
        }),
      }),
      "model-failed",
    ],
    [
      "opens a stream that closes at once",
      async () => ({ stream: stream({ start: (controller) => controller.close() }) }),
      "model-failed",
    ],
    ["opens a stream that stays empty", async () => ({ stream: stream({}) }), "model-timeout"],
    [
      "falls silent and refuses to be cancelled",
      async () => ({ stream: stream({ start: start(text), cancel: () => Promise.reject(new Error("no")) }) }),
      "model-timeout",
    ],
    [
      "falls silent and never finishes cancelling",
      async () => ({ stream: stream({ start: start(text), cancel: () => new Promise(() => {}) }) }),
      "model-timeout",
    ],
    [
      "throws while it is cancelled",
      async () => ({
        stream: stream({
          start: start(text),
          cancel() {
            throw new Error("no");
          },
        }),
      }),
      "model-timeout",
    ],
    [
      "breaks with nothing as its reason",
      async () => ({ stream: stream({ pull: (controller) => controller.error(undefined) }) }),
      "model-failed",
    ],
    [
      "sends finish and more",
      async () => ({ stream: stream({ start: start([...text, finish, ...text]) }) }),
      "complete",
    ],
    [
      "sends finish and breaks",
      async () => ({
        stream: stream({
          start: start([...text, finish]),
          pull: (controller) => controller.error(new Error("late")),
        }),
      }),
      "complete",
    ],
    [
      "sends finish and stays open",
      async () => ({ stream: stream({ start: start([...text, finish]) }) }),
      "complete",
    ],
    [
      "sends finish twice",
      async () => ({ stream: stream({ start: start([...text, finish, finish]) }) }),
      "complete",
    ],
    ["sends only a finish", async () => ({ stream: stream({ start: start([finish]) }) }), "complete"],
  ])("a model that %s", async (_, doStream, outcome) => {
    expect(await endOf(misbehaving(doStream))).toMatchObject({ outcome, left: 0 });
  });

  it("pings without end are stopped by the total limit", async () => {
    const system = virtualSystem();
    const pinging = misbehaving(async () => ({
      stream: stream({
        pull: (controller) =>
          new Promise(
            (resolve) => void system.setTimer(300, () => resolve(controller.enqueue({ type: "ping" }))),
          ),
      }),
    }));
    await expect(system.until(open(pinging, { system }))).rejects.toMatchObject({
      code: "model-timeout",
      cause: { details: { limit: "totalMs", ms: LIMITS.totalMs } },
    });
  });

  it("a stream that arrives after its call was given up is closed", async () => {
    const system = virtualSystem();
    let cancelled: unknown;
    let answer: (result: unknown) => void = () => {};
    const late = misbehaving(() => new Promise((resolve) => void (answer = resolve)));
    await expect(system.until(open(late, { system }))).rejects.toMatchObject({ code: "model-timeout" });
    answer({ stream: stream({ cancel: () => void (cancelled = true) }) });
    await system.settle();
    expect(cancelled).toBe(true);
  });

  it("a finish part after which nothing is read any more needs no clean-up by the reader", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel([SIX_PARTS]), { system });
    const parts: ModelPart[] = [];
    while (parts.at(-1)?.type !== "finish") parts.push((await reply.read())!);
    await system.settle();
    expect([textOf(parts), system.pending]).toEqual(["ab", 0]);
  });
});
