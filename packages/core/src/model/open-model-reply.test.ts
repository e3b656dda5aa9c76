import { getEventListeners } from "node:events";
import { APICallError } from "@ai-sdk/provider";
import { scriptedModel, virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { open, readAll, textOf, watch } from "./__fixtures__/open.ts";
import type { ModelRetry } from "./open-model-reply.ts";

function apiError(statusCode: number, responseHeaders: Record<string, string> = {}): APICallError {
  const message = `status ${statusCode}`;
  return new APICallError({
    message,
    statusCode,
    responseHeaders,
    url: "https://example.test",
    requestBodyValues: {},
  });
}

const deltas = ["a", "b", "c"];

describe("openModelReply", () => {
  it("gives every part of the reply in order, also those read while waiting for the first output", async () => {
    const reply = await open(scriptedModel([{ text: deltas }]));
    const types = [];
    for (let part = await reply.read(); part; part = await reply.read()) types.push(part.type);
    expect(types).toEqual([
      "stream-start",
      "text-start",
      "text-delta",
      "text-delta",
      "text-delta",
      "text-end",
      "finish",
    ]);
    expect(await reply.read()).toBeUndefined();
  });

  it("keeps the halves of a character in one delta, wherever the model cuts them", async () => {
    const text = ["\ud83d", "\ude00a\ud83d", "\ude00", "b\ud83d"];
    const reasoning = ["r\ud83d", "\ude00"];
    const parts = await readAll(await open(scriptedModel([{ text, reasoning }])));
    const deltas = parts.flatMap((part) => ("delta" in part ? [part.delta] : []));
    expect(deltas).toEqual(["r", "😀", "", "😀a", "😀", "b"]);
  });

  it.each([408, 409, 429, 500, 529])("retries status %i before the first output", async (status) => {
    const system = virtualSystem();
    const model = scriptedModel([{ error: apiError(status) }, { error: apiError(status) }, "fine"]);
    const opened = system.until(open(model, { system, maxRetries: 2 }));
    expect(textOf(await readAll(await opened))).toBe("fine");
    expect(model.calls).toHaveLength(3);
  });

  it("retries a connection that could not be made", async () => {
    const system = virtualSystem();
    const refused = new TypeError("fetch failed", {
      cause: Object.assign(new Error(), { code: "ECONNREFUSED" }),
    });
    const opened = system.until(open(scriptedModel([{ error: refused }, "fine"]), { system, maxRetries: 1 }));
    expect(textOf(await readAll(await opened))).toBe("fine");
  });

  it("retries a stream that breaks, ends or reports an error before any output", async () => {
    const system = virtualSystem();
    const overloaded = { type: "error" as const, error: { type: "overloaded_error" } };
    const model = scriptedModel([
      { text: "x", errorAfter: 1 },
      { text: "x", cutAfter: 1 },
      { parts: [overloaded] },
      "fine",
    ]);
    const opened = system.until(open(model, { system, maxRetries: 3 }));
    expect(textOf(await readAll(await opened))).toBe("fine");
  });

  it("does not repeat a call that the provider refused for good", async () => {
    const model = scriptedModel([{ error: apiError(401) }, "never"]);
    await expect(open(model, { maxRetries: 5 })).rejects.toMatchObject({ code: "model-failed" });
    expect(model.calls).toHaveLength(1);
  });

  it("passes on to the next model when the retries are spent, each with its own number of retries", async () => {
    const system = virtualSystem();
    const busy = () => ({ error: apiError(503) });
    const first = scriptedModel(busy, { modelId: "first" });
    const second = scriptedModel(busy, { modelId: "second" });
    const third = scriptedModel(["from the third"]);
    const opened = system.until(
      open(
        [
          { model: first, maxRetries: 1 },
          { model: second, modelSettings: { maxRetries: 0 } },
          { model: third },
        ],
        { system, maxRetries: 9 },
      ),
    );
    const reply = await opened;
    expect(reply.candidate.model).toBe(third);
    expect([first.calls.length, second.calls.length]).toEqual([2, 1]);
  });

  it("waits as long as the provider asks, and not for ever", async () => {
    const seen: ModelRetry[] = [];
    const asked = [{ "retry-after": "7" }, { "retry-after-ms": "120" }, { "retry-after": "86400" }];
    const system = virtualSystem();
    const model = scriptedModel([...asked.map((headers) => ({ error: apiError(429, headers) })), "fine"]);
    const opened = system.until(open(model, { system, maxRetries: 3, onRetry: (retry) => seen.push(retry) }));
    await opened;
    expect(seen.map((retry) => retry.delayMs)).toEqual([7_000, 120, 60_000]);
  });

  it("understands a date as the time to come back", async () => {
    const system = virtualSystem();
    const seen: number[] = [];
    const date = new Date(system.now() + 9_000).toUTCString();
    const model = scriptedModel([{ error: apiError(503, { "retry-after": date }) }, "fine"]);
    const opened = system.until(
      open(model, { system, maxRetries: 1, onRetry: (retry) => seen.push(retry.delayMs) }),
    );
    await opened;
    expect(seen[0]).toBeGreaterThan(7_900);
    expect(seen[0]).toBeLessThanOrEqual(9_000);
  });

  it("spreads its own delays between nothing and a doubling bound", async () => {
    const delays = async (random: () => number): Promise<number[]> => {
      const seen: number[] = [];
      const system = virtualSystem({ random });
      const opened = watch(
        open(
          scriptedModel(() => ({ error: apiError(500) })),
          { system, maxRetries: 3, onRetry: (retry) => seen.push(retry.delayMs) },
        ),
      );
      await system.advance(600_000);
      expect(opened.outcome).toBe("rejected");
      return seen;
    };
    expect(await delays(() => 0)).toEqual([0, 0, 0]);
    expect(await delays(() => 1)).toEqual([1_000, 2_000, 4_000]);
  });

  it("never retries once output began", async () => {
    const model = scriptedModel([{ text: deltas, errorAfter: 3, error: apiError(503) }, "never"]);
    const reply = await open(model, { maxRetries: 5 });
    await expect(readAll(reply)).rejects.toMatchObject({
      code: "model-failed",
      cause: expect.any(APICallError),
    });
    expect(model.calls).toHaveLength(1);
  });

  it("hands an error part after output to the reader", async () => {
    const text = [
      { type: "text-start", id: "1" },
      { type: "error", error: "late" },
    ] as const;
    expect(await readAll(await open(scriptedModel([{ parts: text }])))).toEqual(text);
  });

  it("names every model and its reason when all fail, and keeps the last error as the cause", async () => {
    const last = apiError(400);
    const models = [
      scriptedModel([{ error: new Error("no such model") }], { provider: "one.chat", modelId: "m1" }),
      scriptedModel([{ error: last }], { provider: "two.chat", modelId: "m2" }),
    ];
    const error = await open(models).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "model-failed",
      cause: last,
      message: expect.stringContaining("one/m1: no such model"),
    });
    expect(error).toMatchObject({ message: expect.stringContaining("two/m2: status 400, status 400") });
  });

  it("does not show keys in its messages", async () => {
    const model = scriptedModel([
      { error: new Error("bad key sk-proj-abcdefghijklmnop, Authorization: Bearer abc.def, my-own-secret") },
    ]);
    const candidate = { model, headers: { "x-api-key": "my-own-secret" } };
    const error = (await open([candidate]).catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).not.toMatch(/abcdefghijklmnop|abc\.def|my-own-secret/);
  });

  it("says that there is no model when the list is empty", async () => {
    await expect(open([])).rejects.toMatchObject({ code: "invalid-argument" });
  });

  it("treats a stream that ends early after output as ended: the caller saw no finish part", async () => {
    const parts = await readAll(await open(scriptedModel([{ text: deltas, cutAfter: 4 }])));
    expect(parts.at(-1)).toEqual({ type: "text-delta", id: "text-1", delta: "b" });
  });

  it("counts an answer without content as an answer", async () => {
    expect((await readAll(await open(scriptedModel([{}])))).map((part) => part.type)).toEqual([
      "stream-start",
      "finish",
    ]);
  });
});

describe("limits", () => {
  it.each([{ hang: true }, { text: deltas, hang: { after: 0 } }, { text: deltas, hang: { after: 1 } }])(
    "ends a model that puts nothing out: %o",
    async (script) => {
      const system = virtualSystem();
      const model = scriptedModel([script], { ignoreAbort: true });
      const opened = watch(open(model, { system }));
      await system.advance(999);
      expect(opened.outcome).toBe("pending");
      await system.advance(1);
      expect(opened.value).toMatchObject({
        code: "model-timeout",
        message: expect.stringMatching(/scripted\/model.*no output within 1000 ms.*limits\.firstChunkMs/),
      });
      expect(model.calls[0]!.abortSignal?.aborted).toBe(true);
      expect(system.pending).toBe(0);
    },
  );

  it("retries a silent model and falls back to the next one", async () => {
    const system = virtualSystem();
    const silent = scriptedModel(() => ({ hang: true }), { ignoreAbort: true });
    const opened = system.until(open([silent, scriptedModel(["fine"])], { system, maxRetries: 1 }));
    expect(textOf(await readAll(await opened))).toBe("fine");
    expect(silent.calls).toHaveLength(2);
  });

  it("ends a reply that falls silent in the middle, within 10 % of the limit and never early", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel([{ text: deltas, hang: { after: 4 } }], { ignoreAbort: true }), {
      system,
    });
    await system.advance(333);
    for (let n = 0; n < 4; n++) await reply.read();
    const read = watch(reply.read());
    await system.advance(499);
    expect(read.outcome).toBe("pending");
    await system.advance(51);
    expect(read.value).toMatchObject({
      code: "model-timeout",
      message: expect.stringContaining("limits.chunkMs"),
    });
    await expect(reply.read()).rejects.toBe(read.value);
    expect(system.pending).toBe(0);
  });

  it("does not blame the model for a slow reader", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel([{ text: deltas }]), { system });
    const parts = [];
    for (let part = await reply.read(); part; part = await reply.read()) {
      parts.push(part);
      await system.advance(1_200);
    }
    expect(textOf(parts)).toBe("abc");
  });

  it("lets a slow model go on as long as it keeps talking", async () => {
    const system = virtualSystem();
    let send: (part: object) => void = () => {};
    const stream = new ReadableStream({
      start: (controller) => void (send = (part) => controller.enqueue(part)),
    });
    const model = { ...scriptedModel([]), doStream: async () => ({ stream }) } as never;
    const opened = open(model, { system });
    for (let n = 0; n < 5; n++) {
      await system.advance(900);
      send({ type: "ping" });
    }
    send({ type: "text-start", id: "1" });
    const reply = await opened;
    for (let n = 0; n < 6; n++) await reply.read();
    for (let n = 0; n < 8; n++) {
      const read = reply.read();
      await system.advance(490);
      send({ type: "text-delta", id: "1", delta: "x" });
      await read;
    }
    const late = watch(reply.read());
    await system.advance(550);
    expect(late.value).toMatchObject({ code: "model-timeout" });
  });

  it("ends a reply that talks for too long", async () => {
    const system = virtualSystem();
    const model = scriptedModel(() => ({ text: Array.from({ length: 1_000 }, () => "x") }));
    const reply = await open(model, { system });
    const ending = (async () => {
      for (;;) {
        await system.until(reply.read());
        await system.advance(100);
      }
    })();
    await expect(ending).rejects.toMatchObject({
      code: "model-timeout",
      message: expect.stringContaining("limits.totalMs"),
    });
  });

  it("arms no timer when every limit is off", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel(["hi"]), {
      system,
      limits: { firstChunkMs: 0, chunkMs: 0, totalMs: 0, replyBytes: 0 },
    });
    expect(system.pending).toBe(0);
    expect(textOf(await readAll(reply))).toBe("hi");
  });

  it("arms one timer for a whole reply", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel([{ text: deltas }]), { system });
    await reply.read();
    expect(system.pending).toBe(1);
    while (await reply.read());
    expect(system.pending).toBe(0);
  });

  it("keeps a finished reply when the connection stays open after it", async () => {
    const system = virtualSystem();
    const reply = await open(scriptedModel([{ text: "all", hang: { after: 5 } }], { ignoreAbort: true }), {
      system,
    });
    const all = watch(readAll(reply));
    await system.advance(100);
    expect(textOf(all.value as never)).toBe("all");
    expect(system.pending).toBe(0);
  });
});

describe("abort", () => {
  const reason = new Error("the user left");

  it("is refused before the call when the signal has already aborted", async () => {
    const model = scriptedModel(["hi"]);
    await expect(open(model, { abortSignal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(model.calls).toHaveLength(0);
  });

  it.each([{ hang: true }, { hang: { after: 1 }, text: "x" }])(
    "does not wait for a deaf model: %o",
    async (script) => {
      const system = virtualSystem();
      const controller = new AbortController();
      const opened = watch(
        open(scriptedModel([script], { ignoreAbort: true }), {
          system,
          abortSignal: controller.signal,
          maxRetries: 3,
        }),
      );
      await system.settle();
      controller.abort(reason);
      await system.settle();
      expect(opened).toEqual({ outcome: "rejected", value: reason });
      expect(system.pending).toBe(0);
      expect(getEventListeners(controller.signal, "abort")).toHaveLength(0);
    },
  );

  it("ends the wait before a retry", async () => {
    const system = virtualSystem();
    const controller = new AbortController();
    const model = scriptedModel(() => ({ error: apiError(429) }));
    const opened = watch(open(model, { system, abortSignal: controller.signal, maxRetries: 3 }));
    await system.settle();
    controller.abort(reason);
    await system.settle();
    expect(opened.value).toBe(reason);
    expect(model.calls).toHaveLength(1);
    expect(system.pending).toBe(0);
  });

  it.each([true, false])(
    "settles a pending read with its reason (model ignores it: %s)",
    async (ignoreAbort) => {
      const controller = new AbortController();
      const model = scriptedModel([{ text: deltas, hang: { after: 3 } }], { ignoreAbort });
      const reply = await open(model, { abortSignal: controller.signal });
      for (let n = 0; n < 3; n++) await reply.read();
      const read = reply.read();
      controller.abort(reason);
      await expect(read).rejects.toBe(reason);
      expect(model.calls[0]!.abortSignal?.reason).toBe(reason);
    },
  );

  it("also stops parts that were read ahead", async () => {
    const controller = new AbortController();
    const reply = await open(scriptedModel(["hi"]), { abortSignal: controller.signal });
    controller.abort(reason);
    await expect(reply.read()).rejects.toBe(reason);
  });

  it("leaves no listener on a signal that outlives 10,000 replies", async () => {
    const { signal } = new AbortController();
    const system = virtualSystem();
    const model = scriptedModel(() => "hi");
    for (let n = 0; n < 10_000; n++) {
      const reply = await open(model, { abortSignal: signal, system });
      if (n % 3 === 0) reply.cancel();
      else if (n % 3 === 1) while ((await reply.read())?.type !== "finish");
      else await readAll(reply);
      model.calls.length = 0;
    }
    await system.settle();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });
});

describe("cancel", () => {
  it("ends a pending read and tells the model", async () => {
    const system = virtualSystem();
    const model = scriptedModel([{ text: deltas, hang: { after: 3 } }], { ignoreAbort: true });
    const reply = await open(model, { system });
    for (let n = 0; n < 3; n++) await reply.read();
    const read = reply.read();
    reply.cancel("enough");
    expect(await read).toBeUndefined();
    expect(model.calls[0]!.abortSignal?.reason).toBe("enough");
    expect(system.pending).toBe(0);
  });

  it("drops what was read ahead", async () => {
    const reply = await open(scriptedModel(["hi"]));
    reply.cancel();
    expect(await reply.read()).toBeUndefined();
  });
});
