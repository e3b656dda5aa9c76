import { type ServedReply, startModelServer } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { realSystem } from "../system.ts";
import { readAll, textOf } from "./__fixtures__/open.ts";
import { askModel } from "./ask-model.ts";
import { DEFAULT_MODEL_LIMITS, type ModelConfig, type ModelLimits, type ModelReply } from "./model.ts";
import { openModelReply } from "./open-model-reply.ts";
import { resolveModel } from "./resolve-model.ts";

interface Setup {
  env?: Record<string, string>;
  maxRetries?: number;
  limits?: Partial<ModelLimits>;
  abortSignal?: AbortSignal;
}

async function open(
  config: ModelConfig,
  { env = {}, maxRetries = 0, limits, abortSignal }: Setup = {},
): Promise<ModelReply> {
  const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];
  return openModelReply(await resolveModel(config, env), () => ({ prompt }), {
    limits: { ...DEFAULT_MODEL_LIMITS, ...limits },
    maxRetries,
    system: { ...realSystem, random: () => 0.01 },
    abortSignal,
  });
}

/** A server with these replies, and the model of it. */
async function serve(...replies: Array<string | ServedReply>) {
  const server = await startModelServer(replies);
  const model = { id: "mine/small", url: server.url, apiKey: "my-key-123" };
  return { server, model, [Symbol.asyncDispose]: () => server.close() };
}

describe("a model behind { id, url }", () => {
  it("streams text, usage and the finish reason", async () => {
    await using wire = await serve({ text: ["Hel", "lo"], usage: { inputTokens: 3, outputTokens: 2 } });
    const parts = await readAll(await open(wire.model));
    expect(textOf(parts)).toBe("Hello");
    expect(parts.at(-1)).toMatchObject({
      type: "finish",
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 3 }, outputTokens: { total: 2 } },
    });
    expect(wire.server.requests[0]).toMatchObject({
      path: "/v1/chat/completions",
      headers: { authorization: "Bearer my-key-123" },
      body: { model: "small", stream: true },
    });
  });

  it("streams tool calls", async () => {
    await using wire = await serve({ toolCalls: [{ toolName: "weather", input: { city: "Oslo" } }] });
    const parts = await readAll(await open(wire.model));
    expect(parts).toContainEqual(
      expect.objectContaining({
        type: "tool-call",
        toolName: "weather",
        input: '{"city":"Oslo"}',
        toolCallId: "call-1-1",
      }),
    );
    expect(parts.at(-1)).toMatchObject({ finishReason: { unified: "tool-calls" } });
  });

  it("retries 429 after the time the server asks for", async () => {
    await using wire = await serve(
      { status: 429, headers: { "retry-after-ms": "5" } },
      { status: 503 },
      "fine",
    );
    expect(textOf(await readAll(await open(wire.model, { maxRetries: 2 })))).toBe("fine");
    expect(wire.server.requests).toHaveLength(3);
  });

  it("retries a connection that is dropped before the answer", async () => {
    await using wire = await serve({ cutAfter: 0, text: "x" }, { cutAfter: 1, text: "x" }, "fine");
    expect(textOf(await readAll(await open(wire.model, { maxRetries: 2 })))).toBe("fine");
  });

  it("breaks off with model-failed when the connection is cut in the middle, and does not call again", async () => {
    await using wire = await serve({ cutAfter: 3, text: ["a", "b", "c"] }, "never");
    const reply = await open(wire.model, { maxRetries: 2 });
    await expect(readAll(reply)).rejects.toMatchObject({ code: "model-failed" });
    expect(wire.server.requests).toHaveLength(1);
  });

  it("falls back from a server that is not there", async () => {
    await using wire = await serve("fine");
    const closed = await startModelServer([]);
    await closed.close();
    const reply = await open([
      { model: { id: "gone/x", url: closed.url }, maxRetries: 0 },
      { model: wire.model },
    ]);
    expect(textOf(await readAll(reply))).toBe("fine");
  });

  it.each([0, 1])(
    "ends a server that stalls after %i events at the first-chunk limit",
    async (stallAfter) => {
      await using wire = await serve({ stallAfter, text: "x" });
      await expect(open(wire.model, { limits: { firstChunkMs: 60 } })).rejects.toMatchObject({
        code: "model-timeout",
      });
    },
  );

  it("ends a server that stalls in the middle at the chunk limit", async () => {
    await using wire = await serve({ stallAfter: 3, text: ["a", "b", "c"] });
    const reply = await open(wire.model, { limits: { chunkMs: 60 } });
    await expect(readAll(reply)).rejects.toMatchObject({
      code: "model-timeout",
      details: { limit: "chunkMs" },
    });
  });

  it("stops at once when the caller aborts", async () => {
    await using wire = await serve({ stallAfter: 3, text: ["a", "b", "c"] });
    const controller = new AbortController();
    const reply = await open(wire.model, { abortSignal: controller.signal });
    const reading = readAll(reply);
    setTimeout(() => controller.abort(new Error("left")), 20);
    await expect(reading).rejects.toThrow("left");
  });

  it("does not repeat the key when the server does", async () => {
    await using wire = await serve({ status: 401, error: "wrong key my-key-123" });
    const error = (await open(wire.model).catch((thrown: unknown) => thrown)) as Error;
    expect(error.message).toMatch(/mine\/small: status 401, wrong key \[hidden\]/);
  });

  it("sends a key of the environment to the provider's own host only", async () => {
    await using wire = await serve("hi");
    await readAll(
      await open({ id: "openai/gpt-5", url: wire.server.url }, { env: { OPENAI_API_KEY: "sk-private" } }),
    );
    expect(wire.server.requests[0]!.headers.authorization).toBeUndefined();
  });

  it("sends the headers it was given", async () => {
    await using wire = await serve("hi");
    await readAll(await open({ ...wire.model, headers: { "x-team": "blue" } }));
    expect(wire.server.requests[0]!.headers["x-team"]).toBe("blue");
  });
});

describe("a local model", () => {
  it.each([
    ["ollama/llama3.2", "OLLAMA_BASE_URL"],
    ["lmstudio/qwen", "LMSTUDIO_BASE_URL"],
    ["llamacpp/any", "LLAMACPP_BASE_URL"],
  ])("%s is found at %s, with or without /v1", async (id, variable) => {
    await using server = await startModelServer(["one", "two"]);
    for (const address of [server.url, server.url.replace("/v1", "")])
      await readAll(await open(id, { env: { [variable]: address } }));
    expect(server.requests.map((request) => request.path)).toEqual([
      "/v1/chat/completions",
      "/v1/chat/completions",
    ]);
  });
});

describe("askModel", () => {
  it("gives one text over the wire", async () => {
    await using wire = await serve({ text: ["A ", "title"] });
    expect(await askModel(wire.model, { system: "Be short.", prompt: "Name it", maxOutputTokens: 20 })).toBe(
      "A title",
    );
    expect(wire.server.requests[0]!.body).toMatchObject({
      max_tokens: 20,
      messages: [
        { role: "system", content: "Be short." },
        { role: "user", content: "Name it" },
      ],
    });
  });
});
