import type { Processor } from "@selvedge/core/processors";
import { scriptedModel } from "@selvedge/testing";
import { Agent, Mastra } from "@selvedge/core";
import { describe, expect, test } from "vitest";
import { served } from "../__fixtures__/served.ts";
import { createServer } from "../server.ts";

const SECRET = "4111-1111";
const hide = <Value>(value: Value): Value => JSON.parse(JSON.stringify(value).replaceAll(SECRET, "[hidden]"));
const redact: Processor = { id: "redact", processOutputResult: ({ messages }) => messages.map(hide) };
const ASK = [{ role: "user" as const, content: "Hi" }];
const TWO_STEPS = [
  { text: `With ${SECRET}. `, toolCalls: [{ toolName: "add", input: { a: 1, b: 2 } }] },
  `Paid with ${SECRET}.`,
];

describe("an answer that a processor changed when it was whole", () => {
  test("is what a chat completion tells that is not streamed", async () => {
    const { json } = served(TWO_STEPS, { agent: { outputProcessors: [redact] } });
    const { choices } = (await json("chatCompletions", { body: { model: "helper", messages: ASK } })) as any;
    expect(choices[0].message.content).toBe("With [hidden]. Paid with [hidden].");
  });

  test.each([true, false])("is what a response tells that is not streamed (store: %s)", async (store) => {
    const { json } = served(TWO_STEPS, { agent: { outputProcessors: [redact] } });
    const response = await json("responses", { body: { model: "helper", input: "Hi", store } });
    expect(JSON.stringify(response)).toContain("With [hidden]. Paid with [hidden].");
    expect(JSON.stringify(response)).not.toContain(SECRET);
  });

  test.each([true, false])("is what a later request refers to (streamed: %s)", async (stream) => {
    const model = scriptedModel([`It is ${SECRET}.`, "ok"]);
    const bare = new Agent({ id: "bare", name: "Bare", instructions: "", model, outputProcessors: [redact] });
    const { fetch } = createServer({ mastra: new Mastra({ agents: { bare }, logger: false }) });
    const ask = (input: unknown, more = {}) =>
      fetch(
        new Request("http://localhost/v1/responses", {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "bare", input, ...more }),
        }),
      ).then((response) => response.text());
    const [id] = /msg_[\w-]+/.exec(await ask("Hi", { stream })) ?? [];
    await ask([{ type: "item_reference", id }, ...ASK]);
    const prompt = JSON.stringify(model.calls[1]!.prompt);
    expect(prompt).toContain("It is [hidden].");
    expect(prompt).not.toContain(SECRET);
  });

  test("holds nothing of a step that a processor had taken again", async () => {
    const picky: Processor = {
      id: "picky",
      processOutputStep: ({ text, abort }) => {
        if (text.includes("rude")) abort("Be polite.", { retry: true });
      },
    };
    const { json } = served(["A rude word.", "A kind word."], {
      agent: { outputProcessors: [picky], maxProcessorRetries: 1 },
    });
    const { choices } = (await json("chatCompletions", { body: { model: "helper", messages: ASK } })) as any;
    expect(choices[0].message.content).toBe("A kind word.");
  });
});
