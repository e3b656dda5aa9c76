import { describe, expect, test } from "vitest";
import { byHeader, served } from "./__fixtures__/served.ts";
import { checkCallerSchema } from "./check-caller-schema.ts";

const chain = Object.fromEntries(
  Array.from({ length: 5000 }, (_, n) => [`d${n}`, { $ref: `#/$defs/d${n + 1}` }]),
);

const BAD: readonly [object, string][] = [
  [{ $ref: "#" }, "# refers to itself without end."],
  [{ $ref: "#/$defs/none" }, '#/$ref leads nowhere: "#/$defs/none".'],
  [{ $ref: "https://example.com/other" }, "#/$ref leads nowhere"],
  [
    { type: "banana" },
    '#/type must be one of null, boolean, object, array, number, string, integer, or a list of them, got "banana".',
  ],
  [{ type: ["string", 5] }, "#/type must be"],
  [{ properties: { a: { type: "text" } } }, "#/properties/a/type must be"],
  [{ properties: { a: { $ref: "#/properties/a" } } }, "#/properties/a refers to itself"],
  [{ allOf: [{ $ref: "#" }] }, "refers to itself"],
  [{ if: { $ref: "#/$defs/x" }, $defs: { x: { not: { $ref: "#" } } } }, "refers to itself"],
  [{ properties: 5 }, "#/properties must be an object of schemas"],
  [{ properties: { a: 5 } }, "#/properties must be an object of schemas"],
  [{ items: 3 }, "#/items must be a schema"],
  [{ items: { type: "nope" } }, "#/items/type must be"],
  [{ anyOf: [{}, { type: "nope" }] }, "#/anyOf/1/type must be"],
  [{ anyOf: {} }, "#/anyOf must be a list of schemas"],
  [{ anyOf: [] }, "#/anyOf must be a list of schemas"],
  [{ not: 3 }, "#/not must be a schema"],
  [{ required: "a" }, "#/required must be a list of names"],
  [{ enum: 5 }, "#/enum must be a list"],
  [{ minimum: "x" }, "#/minimum must be a number"],
  [{ minLength: -1 }, "#/minLength must be a whole number from 0"],
  [{ multipleOf: 0 }, "#/multipleOf must be a number above 0"],
  [{ pattern: "(" }, "#/pattern must be a regular expression"],
  [{ patternProperties: { "(": {} } }, "#/patternProperties must be"],
  [{ $id: "http://[" }, "has an $id or a $ref that is not usable"],
  [{ "~standard": { vendor: "x" } }, "must be plain JSON Schema"],
  [{ jsonSchema: {}, validate: true }, "must be plain JSON Schema"],
  [{ $ref: "#/$defs/d0", $defs: { ...chain, d5000: {} } }, "references in a row"],
];

test.each(BAD)("%j is refused with the place of the mistake", (schema, why) => {
  expect(() => checkCallerSchema("the output", schema)).toThrow(why);
  expect(() => checkCallerSchema("the output", schema)).toThrow(
    "The JSON Schema of the output is not valid: ",
  );
});

test.each([
  {},
  { type: ["string", "null"], enum: ["a", null] },
  { type: "object", properties: { children: { type: "array", items: { $ref: "#" } } } },
  { $defs: { a: { $anchor: "name", type: "string" } }, properties: { x: { $ref: "#name" } } },
  { definitions: { a: true }, additionalProperties: { $ref: "#/definitions/a" } },
  { $id: "https://example.com/a", $defs: { b: { $id: "b", type: "null" } }, items: { $ref: "b" } },
  { items: [{ type: "string" }], additionalItems: false },
  { anyOf: [{ properties: { next: { $ref: "#" } } }, { type: "null" }] },
  { const: { type: "banana" }, default: { $ref: "#" }, examples: [{ type: 5 }] },
  {
    type: "object",
    properties: { type: { type: "string" }, $ref: { type: "string" }, id: { type: "number" } },
  },
  { nullable: true, "x-order": 5, title: "T", description: "d", format: "email" },
])("%j is a schema", (schema) => {
  expect(() => checkCallerSchema("the output", schema)).not.toThrow();
});

const messages = [{ role: "user", content: "x" }];
const DOORS: Record<string, (schema: object) => [string, object]> = {
  "structuredOutput of generate": (schema) => [
    "/api/agents/bare/generate",
    { messages: "x", structuredOutput: { schema } },
  ],
  "output of stream": (schema) => ["/api/agents/bare/stream", { messages: "x", output: schema }],
  "a client tool": (schema) => [
    "/api/agents/bare/generate",
    { messages: "x", clientTools: { t: { inputSchema: schema } } },
  ],
  "streamOptions of a message": (schema) => [
    "/api/agents/helper/send-message",
    { message: "x", threadId: "t", ifIdle: { streamOptions: { output: schema } } },
  ],
  "response_format of chat completions": (schema) => [
    "/v1/chat/completions",
    { model: "bare", messages, response_format: { type: "json_schema", json_schema: { name: "x", schema } } },
  ],
  "a tool of chat completions": (schema) => [
    "/v1/chat/completions",
    { model: "bare", messages, tools: [{ type: "function", function: { name: "t", parameters: schema } }] },
  ],
  "the format of responses": (schema) => [
    "/v1/responses",
    { model: "helper", input: "x", text: { format: { type: "json_schema", name: "x", schema } } },
  ],
};

describe.each(Object.entries(DOORS))("a bad schema as %s", (_, door) => {
  test.each([undefined, byHeader])(
    "is the caller's mistake, and nothing is begun or logged",
    async (authorize) => {
      const logged: unknown[] = [];
      const log = (...words: unknown[]) => void logged.push(words);
      const logger = { debug() {}, info() {}, warn: log, error: log };
      const { server, model, storage } = served(() => "{}", { authorize, logger });
      for (const schema of [{ $ref: "#" }, { $ref: "#/$defs/none" }, { type: "banana" }]) {
        const [path, body] = door(schema);
        const headers = { "content-type": "application/json", "x-user": "ann" };
        const asked = { method: "POST", headers, body: JSON.stringify(body) };
        const response = await server.fetch(new Request(`http://localhost${path}`, asked));
        expect(response.status).toBe(400);
        expect(await response.text()).toContain("invalid-schema");
      }
      expect(logged).toEqual([]);
      expect(model.calls).toEqual([]);
      const memory = await storage.getStore("memory");
      expect(await memory!.listThreads()).toMatchObject({ total: 0 });
    },
  );
});
