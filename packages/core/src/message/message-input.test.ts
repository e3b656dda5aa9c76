import { describe, expect, it } from "vitest";
import { realSystem } from "../system.ts";
import { type MessagesInput, toStoredMessages } from "./message-input.ts";
import { MessageList } from "./message-list.ts";

const read = (input: MessagesInput) => toStoredMessages(input, realSystem);
const partsOf = (input: MessagesInput) => read(input).flatMap((message) => message.content.parts);
const prompt = (input: MessagesInput) => new MessageList(realSystem).add(input, "input").toPrompt();

describe("input messages", () => {
  it("are strings, objects, lists and mixtures of them", () => {
    expect(read("a").map((message) => message.role)).toEqual(["user"]);
    expect(
      read(["a", { role: "assistant", content: "b" }, { role: "system", content: "c" }]).map(
        (message) => message.role,
      ),
    ).toEqual(["user", "assistant", "system"]);
  });

  it("keep their ids, dates and metadata", () => {
    const [message] = read({
      id: "m",
      role: "user",
      content: "x",
      createdAt: "2026-01-02T03:04:05Z",
      metadata: { a: 1 },
      providerOptions: { p: { q: 1 } },
    });
    expect(message).toMatchObject({
      id: "m",
      createdAt: new Date("2026-01-02T03:04:05Z"),
      content: { metadata: { a: 1 }, providerMetadata: { p: { q: 1 } } },
    });
  });

  it("carry files as text, bytes and addresses", () => {
    const parts = partsOf({
      role: "user",
      content: [
        { type: "file", data: new Uint8Array([1, 2, 3]), mediaType: "image/png", filename: "a.png" },
        { type: "image", image: new URL("https://a.example/b.png") },
        { type: "file", data: "data:text/plain;base64,AAAA", mimeType: "text/plain" },
      ],
    });
    expect(parts).toMatchObject([
      { data: "AQID", filename: "a.png" },
      { data: "https://a.example/b.png", mimeType: "image/*" },
      { mimeType: "text/plain" },
    ]);
    expect(
      prompt(read({ role: "user", content: [{ type: "image", image: "https://a.example/b.png" }] }))[0],
    ).toMatchObject({ content: [{ data: { type: "url" } }] });
  });

  it("may be messages of a page, with tool parts in any state", () => {
    const parts = partsOf({
      role: "assistant",
      parts: [
        { type: "step-start" },
        { type: "tool-weather", toolCallId: "a", state: "output-available", input: { c: 1 }, output: "sun" },
        {
          type: "dynamic-tool",
          toolName: "x",
          toolCallId: "b",
          state: "output-error",
          input: {},
          errorText: "no",
        },
        { type: "tool-weather", toolCallId: "c", state: "input-available", input: {} },
      ],
    });
    expect(parts.slice(1)).toMatchObject([
      { toolInvocation: { state: "result", toolName: "weather", result: "sun" } },
      { toolInvocation: { state: "output-error", toolName: "x", result: "no", isError: true } },
      { toolInvocation: { state: "call", toolName: "weather" } },
    ]);
  });

  it("may hold a provider's own call and result in one assistant message", () => {
    const parts = partsOf({
      role: "assistant",
      content: [
        { type: "tool-call", toolCallId: "a", toolName: "search", input: { q: 1 }, providerExecuted: true },
        { type: "tool-result", toolCallId: "a", toolName: "search", output: { type: "json", value: [1] } },
      ],
    });
    expect(parts).toMatchObject([{ toolInvocation: { toolName: "search", state: "result", result: [1] } }]);
  });

  it("have a result for every call in the prompt, whatever became of it", () => {
    const list = prompt([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", toolName: "t", input: {} }] },
      "next",
    ]);
    expect(list.map((message) => message.role)).toEqual(["assistant", "tool", "user"]);
  });

  it("lose lone surrogates, and nothing else", () => {
    expect(partsOf("a\uD800b")).toEqual([{ type: "text", text: "a\uFFFDb" }]);
  });

  it.each([
    ["nothing", null],
    ["a number", 5],
    ["no role", { content: "x" }],
    ["a strange role", { role: "robot", content: "x" }],
    ["no content", { role: "user" }],
    ["a part without a type", { role: "user", content: [{}] }],
    ["an unknown part", { role: "user", content: [{ type: "nonsense" }] }],
    ["text that is none", { role: "user", content: [{ type: "text", text: 1n }] }],
    ["a date that is none", { role: "user", content: "x", createdAt: Symbol("s") }],
    ["a file without data", { role: "user", content: [{ type: "file", mediaType: "a/b" }] }],
    [
      "an address that is none",
      { role: "user", content: [{ type: "file", mediaType: "a/b", data: "https://" }] },
    ],
    ["a call without an id", { role: "assistant", content: [{ type: "tool-call", toolName: "t" }] }],
    ["an empty invocation", { role: "assistant", content: [{ type: "tool-invocation" }] }],
    ["a stored message with a broken part", { role: "user", content: { format: 2, parts: [null] } }],
    ["a result without an id", { role: "tool", content: [{ type: "tool-result" }] }],
    ["a tool message with text", { role: "tool", content: "x" }],
  ])("are refused when there is %s", (_, wrong) => {
    expect(() => read(wrong as never)).toThrow(expect.objectContaining({ code: "invalid-message" }));
  });
});

describe("MessageList", () => {
  const stored = (id: string) => ({
    id,
    role: "user" as const,
    createdAt: new Date(0),
    content: { format: 2 as const, parts: [{ type: "text" as const, text: id }] },
  });
  const ids = (list: MessageList) => list.get.all.db().map((message) => message.id);

  it("keeps memory, context, input and response in that order, each id once", () => {
    const list = new MessageList(realSystem)
      .add(stored("in"), "input")
      .add(stored("ctx"), "context")
      .prepend([stored("mem"), stored("in")]);
    list.appendResponse(stored("res"), [{ type: "text", text: "answer" }]);
    list.add(stored("in2"), "input").add(stored("in"), "input");
    expect(ids(list)).toEqual(["mem", "ctx", "in", "in2", "res"]);
    expect(list.get.remembered.db().map((message) => message.id)).toEqual(["mem"]);
    expect(list.get.all.aiV5.model()).toEqual(list.get.all.model());
  });

  it("reads again what was changed in place", () => {
    const list = new MessageList(realSystem).add(stored("a"), "input");
    list.toPrompt();
    (list.get.input.db()[0]!.content.parts[0] as { text: string }).text = "changed";
    list.invalidate();
    expect(JSON.stringify(list.toPrompt())).toContain("changed");
  });
});
