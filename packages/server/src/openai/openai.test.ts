import OpenAI from "openai";
import { describe, expect, test } from "vitest";
import { byHeader, served, type Served } from "../__fixtures__/served.ts";

function client(world: Served, headers: Record<string, string> = {}): OpenAI {
  return new OpenAI({
    apiKey: "unused",
    baseURL: "http://localhost/v1",
    maxRetries: 0,
    defaultHeaders: headers,
    fetch: (input, init) => world.server.fetch(new Request(input as string, init as RequestInit)),
  });
}

const SEARCH = {
  type: "function" as const,
  function: {
    name: "search",
    description: "searches",
    parameters: { type: "object", properties: { q: { type: "string" } } },
  },
};
const ASK = [{ role: "user" as const, content: "Hi" }];

describe("chat completions by the openai client", () => {
  test("answer with the agent whose id is the model; its own tools run here", async () => {
    const world = served([{ toolCalls: [{ toolName: "add", input: { a: 1, b: 2 } }] }, "Three."]);
    const openai = client(world);
    expect((await openai.models.list()).data.map(({ id }) => id)).toEqual(["helper", "bare"]);
    const completion = await openai.chat.completions.create({ model: "helper", messages: ASK });
    expect(completion.choices[0]).toMatchObject({
      message: { role: "assistant", content: expect.stringContaining("Three.") },
      finish_reason: "stop",
    });
    expect(completion.choices[0]!.message.tool_calls).toBeUndefined();
    expect(completion.usage!.total_tokens).toBeGreaterThan(0);
  });

  test("stream", async () => {
    const world = served([{ text: ["Hel", "lo."] }]);
    const stream = await client(world).chat.completions.create({
      model: "bare",
      messages: ASK,
      stream: true,
      stream_options: { include_usage: true },
    });
    let text = "";
    const reasons = [];
    let usage;
    for await (const chunk of stream) {
      text += chunk.choices[0]?.delta.content ?? "";
      if (chunk.choices[0]?.finish_reason) reasons.push(chunk.choices[0].finish_reason);
      usage ??= chunk.usage;
    }
    expect([text, reasons]).toEqual(["Hello.", ["stop"]]);
    expect(usage!.total_tokens).toBeGreaterThan(0);
  });

  test("hand the client's tools to the client and take their results", async () => {
    const world = served([{ toolCalls: [{ toolName: "search", input: { q: "x" } }] }, "Found."]);
    const openai = client(world);
    const first = await openai.chat.completions.create({ model: "bare", messages: ASK, tools: [SEARCH] });
    const [call] = first.choices[0]!.message.tool_calls!;
    expect(first.choices[0]!.finish_reason).toBe("tool_calls");
    expect(call).toMatchObject({ type: "function", function: { name: "search", arguments: '{"q":"x"}' } });
    const messages = [
      ...ASK,
      first.choices[0]!.message,
      { role: "tool" as const, tool_call_id: call!.id, content: "a result" },
    ];
    const second = await openai.chat.completions.create({ model: "bare", messages, tools: [SEARCH] });
    expect(second.choices[0]!.message.content).toBe("Found.");
    expect(JSON.stringify(world.model.calls[1]!.prompt)).toContain("a result");
  });

  test("stream tool calls, and parse a structured answer", async () => {
    const world = served([{ toolCalls: [{ toolName: "search", input: { q: "x" } }] }, { object: { n: 5 } }]);
    const openai = client(world);
    const run = openai.chat.completions.stream({ model: "bare", messages: ASK, tools: [SEARCH] });
    const message = await run.finalMessage();
    expect(message.tool_calls![0]).toMatchObject({ function: { name: "search", arguments: '{"q":"x"}' } });
    const schema = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
    const parsed = await openai.chat.completions.create({
      model: "bare",
      messages: ASK,
      response_format: { type: "json_schema", json_schema: { name: "n", schema } },
    });
    expect(JSON.parse(parsed.choices[0]!.message.content!)).toEqual({ n: 5 });
  });

  test("find one model by its id", async () => {
    const openai = client(served([]));
    expect(await openai.models.retrieve("helper")).toMatchObject({ id: "helper", object: "model" });
    await expect(openai.models.retrieve("none")).rejects.toMatchObject({
      status: 404,
      error: { message: 'There is no agent "none".', type: "invalid_request_error" },
    });
  });

  test.each([
    { n: 2 },
    { logprobs: true },
    { functions: [{ name: "f" }] },
    { modalities: ["text", "audio"] },
    { audio: { voice: "ash", format: "wav" } },
  ])("refuse what they cannot give, and do not leave it out silently: %j", async (fields) => {
    const world = served(() => "ok");
    const asked = client(world).chat.completions.create({ model: "bare", messages: ASK, ...fields } as never);
    const [name] = Object.keys(fields);
    await expect(asked).rejects.toMatchObject({
      status: 400,
      error: { message: expect.stringMatching(`^body.${name}: .* is not supported`) },
    });
    expect(world.model.calls).toEqual([]);
  });

  test.each([{ n: 1 }, { n: null }, { logprobs: false }, { functions: [] }, { modalities: ["text"] }])(
    "take what says the usual: %j",
    async (fields) => {
      const openai = client(served(() => "ok"));
      const body = { model: "bare", messages: ASK, ...fields } as never;
      expect(await openai.chat.completions.create(body)).toMatchObject({ object: "chat.completion" });
    },
  );

  test("fail in the way of OpenAI", async () => {
    const world = served(
      () => {
        throw new Error("The model is down.");
      },
      { agent: { maxRetries: 0 } },
    );
    const openai = client(world);
    await expect(openai.chat.completions.create({ model: "nobody", messages: ASK })).rejects.toMatchObject({
      status: 404,
      code: "not-found",
    });
    await expect(openai.chat.completions.create({ model: "helper", messages: ASK })).rejects.toMatchObject({
      status: 502,
    });
    const guarded = served([], { authorize: byHeader });
    await expect(
      client(guarded).chat.completions.create({ model: "bare", messages: ASK }),
    ).rejects.toMatchObject({
      status: 401,
    });
    const told = [{ role: "system" as const, content: "Obey." }, ...ASK];
    const ann = client(guarded, { "x-user": "ann" });
    await expect(ann.chat.completions.create({ model: "bare", messages: told })).rejects.toMatchObject({
      status: 403,
    });
  });
});

describe("responses by the openai client", () => {
  test("answer, and remember by conversation", async () => {
    const world = served(["One.", "Two."]);
    const openai = client(world);
    const first = await openai.responses.create({ model: "helper", input: "First", conversation: "conv" });
    expect(first).toMatchObject({ status: "completed", output_text: "One.", conversation: { id: "conv" } });
    const second = await openai.responses.create({
      model: "helper",
      input: [{ role: "user", content: "Second" }],
      conversation: { id: "conv" },
    });
    expect(second.output_text).toBe("Two.");
    expect(JSON.stringify(world.model.calls[1]!.prompt)).toContain("One.");
  });

  test("stream events that the client puts together", async () => {
    const world = served([{ text: ["Hel", "lo."] }]);
    const stream = client(world).responses.stream({ model: "bare", input: "Hi" });
    const types = new Set<string>();
    for await (const event of stream) types.add(event.type);
    const response = await stream.finalResponse();
    expect(response.output_text).toBe("Hello.");
    expect([...types]).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  test.each([{ background: true }, { prompt: { id: "p" } }])(
    "refuse what they cannot give: %j",
    async (fields) => {
      const world = served(() => "ok");
      const asked = client(world).responses.create({ model: "helper", input: "Hi", ...fields } as never);
      await expect(asked).rejects.toMatchObject({ status: 400 });
      expect(world.model.calls).toEqual([]);
    },
  );

  test("call the client's functions", async () => {
    const world = served([{ toolCalls: [{ toolName: "search", input: { q: "x" } }] }, "Found."]);
    const openai = client(world);
    const tools = [{ type: "function" as const, strict: false, ...SEARCH.function }];
    const first = await openai.responses.create({ model: "bare", input: "Hi", tools });
    const call = first.output.find((item) => item.type === "function_call")!;
    expect(call).toMatchObject({ name: "search", arguments: '{"q":"x"}' });
    const second = await openai.responses.create({
      model: "bare",
      tools,
      input: [
        { role: "user", content: "Hi" },
        call as never,
        { type: "function_call_output", call_id: (call as { call_id: string }).call_id, output: "a result" },
      ],
    });
    expect(second.output_text).toBe("Found.");
  });
});
