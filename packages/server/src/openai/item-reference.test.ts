import { createOpenAI, type OpenAILanguageModelResponsesOptions } from "@ai-sdk/openai";
import { generateText, jsonSchema, type ModelMessage, stepCountIs, streamText, tool } from "ai";
import { describe, expect, test } from "vitest";
import { byHeader, served, type Served } from "../__fixtures__/served.ts";

/** The provider of the AI SDK, and what it sent. */
function provider(world: Served, user?: string) {
  const sent: { input: { type?: string; id?: string }[] }[] = [];
  const openai = createOpenAI({
    apiKey: "unused",
    baseURL: "http://localhost/v1",
    ...(user !== undefined && { headers: { "x-user": user } }),
    fetch: async (input, init) => {
      sent.push(JSON.parse(init!.body as string) as never);
      return world.server.fetch(new Request(input as string, init as RequestInit));
    },
  });
  return { openai, sent };
}

const search = tool({
  description: "searches",
  inputSchema: jsonSchema<{ q: string }>({ type: "object", properties: { q: { type: "string" } } }),
  execute: async ({ q }) => `found ${q}`,
});

/** The words of a prompt without the instructions, with who said them. */
function told({ model }: Served, index: number): string[] {
  return model.calls[index]!.prompt.flatMap(({ role, content }) =>
    role === "system" || typeof content === "string"
      ? []
      : content.map((part) => `${role}: ${"text" in part ? part.text : part.type}`),
  );
}

describe.each(["helper", "bare"])("a second turn of @ai-sdk/openai with the agent %s", (agentId) => {
  test("finds what the first answered", async () => {
    const world = served(["One.", "Two."]);
    const { openai, sent } = provider(world);
    const model = openai.responses(agentId);
    const messages: ModelMessage[] = [{ role: "user", content: "First" }];
    const first = await generateText({ model, messages });
    messages.push(...first.response.messages, { role: "user", content: "Second" });
    const second = await generateText({ model, messages, maxRetries: 0 });
    expect(sent[1]!.input.map(({ type }) => type)).toContain("item_reference");
    expect(second.text).toBe("Two.");
    expect(told(world, 1)).toEqual(["user: First", "assistant: One.", "user: Second"]);
  });

  test("finds it where both are streamed", async () => {
    const world = served([{ text: ["O", "ne."] }, { text: ["T", "wo."] }]);
    const { openai } = provider(world);
    const model = openai.responses(agentId);
    const messages: ModelMessage[] = [{ role: "user", content: "First" }];
    const first = streamText({ model, messages });
    messages.push(...(await first.responseMessages), { role: "user", content: "Second" });
    expect(await streamText({ model, messages, maxRetries: 0 }).text).toBe("Two.");
    expect(told(world, 1)).toEqual(["user: First", "assistant: One.", "user: Second"]);
  });

  test("finds it after tools that the client ran", async () => {
    const world = served([
      { text: "Let me see.", toolCalls: [{ toolName: "search", input: { q: "x" } }] },
      "Found.",
      "Two.",
    ]);
    const { openai } = provider(world);
    const model = openai.responses(agentId);
    const messages: ModelMessage[] = [{ role: "user", content: "First" }];
    const options = { model, tools: { search }, stopWhen: stepCountIs(3), maxRetries: 0 };
    const first = await generateText({ ...options, messages });
    expect(first.text).toBe("Found.");
    messages.push(...first.responseMessages, { role: "user", content: "Second" });
    expect((await generateText({ ...options, messages })).text).toBe("Two.");
    expect(told(world, 2)).toEqual([
      "user: First",
      "assistant: Let me see.",
      "assistant: tool-call",
      "tool: tool-result",
      "assistant: Found.",
      "user: Second",
    ]);
  });

  test("works on a conversation, and with nothing stored", async () => {
    const world = served(["One.", "Two.", "Three.", "Four."]);
    const { openai } = provider(world);
    const model = openai.responses(agentId);
    for (const openaiOptions of agentId === "bare"
      ? [{ store: false }]
      : [{ store: false }, { conversation: "c" }]) {
      const providerOptions = { openai: openaiOptions satisfies OpenAILanguageModelResponsesOptions };
      const messages: ModelMessage[] = [{ role: "user", content: "First" }];
      const first = await generateText({ model, messages, providerOptions, maxRetries: 0 });
      messages.push(...first.response.messages, { role: "user", content: "Second" });
      await generateText({ model, messages, providerOptions, maxRetries: 0 });
    }
    expect(told(world, 1)).toEqual(["user: First", "assistant: One.", "user: Second"]);
  });
});

describe("an item_reference", () => {
  const ask = (world: Served, input: unknown, as: string) =>
    world.call("responses", { body: { model: "helper", input: input as never } }, as);

  test("names a call too, as other versions of the provider send it", async () => {
    const world = served([{ toolCalls: [{ toolName: "search", input: { q: "x" } }] }, "Found."]);
    const tools = [{ type: "function", name: "search", parameters: { type: "object" } }];
    const asked = { model: "helper", input: "Hi", tools };
    const first = await world.json("responses", { body: asked as never });
    const [item] = first["output"] as { id: string; call_id: string }[];
    const input = [
      { role: "user", content: "Hi" },
      { type: "item_reference", id: item!.id },
      { type: "function_call_output", call_id: item!.call_id, output: "a result" },
    ];
    await world.json("responses", { body: { ...asked, input } as never });
    expect(told(world, 1)).toEqual(["user: Hi", "assistant: tool-call", "tool: tool-result"]);
    expect(JSON.stringify(world.model.calls[1]!.prompt)).toContain('"input":{"q":"x"}');
  });

  test.each(["helper", "bare"])(
    "of another is not there, like one that does not exist (%s)",
    async (model) => {
      const world = served(() => "The secret.", { authorize: byHeader });
      const first = await world.json("responses", { body: { model, input: "Hi" } }, "ann");
      const [item] = first["output"] as { id: string }[];
      const foreign = await ask(world, [{ type: "item_reference", id: item!.id }], "bob");
      const absent = await ask(world, [{ type: "item_reference", id: "msg_none" }], "bob");
      expect([foreign.status, absent.status]).toEqual([404, 404]);
      const text = await foreign.text();
      expect(text.replace(item!.id, "*")).toBe((await absent.text()).replace("msg_none", "*"));
      expect(text).toContain("store");
      expect(world.model.calls).toHaveLength(1);
      expect((await ask(world, [{ type: "item_reference", id: item!.id }], "ann")).status).toBe(200);
    },
  );

  test.each([[{}], [{ id: 1 }], [{ id: "" }], [{ id: "x".repeat(1000) }]])(
    "with %j is the caller's fault",
    async (fields) => {
      const world = served(() => "ok");
      const response = await world.call("responses", {
        body: { model: "helper", input: [{ type: "item_reference", ...fields }] },
      });
      expect([400, 404]).toContain(response.status);
    },
  );

  test("leads nowhere where its response was not to be stored", async () => {
    const world = served(() => "ok");
    const first = await world.json("responses", { body: { model: "bare", input: "Hi", store: false } });
    const [item] = first["output"] as { id: string }[];
    const response = await world.call("responses", {
      body: { model: "bare", input: [{ type: "item_reference", id: item!.id }] },
    });
    expect(response.status).toBe(404);
  });
});
