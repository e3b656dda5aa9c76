import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { AgentError } from "../errors.ts";
import { createSignal, messageToSignal, reviveSignal, type SignalInput } from "./signal.ts";

const make = { newId: () => "made", now: () => 1_700_000_000_000 };
const create = (input: unknown, limits?: { textBytes: number; fileBytes: number }) =>
  createSignal(input as SignalInput, make, limits);
const refusal = (code: string) => expect.objectContaining({ name: "AgentError", code });

describe("createSignal", () => {
  it.each([
    ["user", "user", "user"],
    ["state", "state", "state"],
    ["reactive", "reactive", "system-reminder"],
    ["notification", "notification", "notification"],
    ["user-message", "user", "user"],
    ["system-reminder", "reactive", "system-reminder"],
  ])("takes type %s", (type, normal, tagName) => {
    expect(create({ type, contents: "x" })).toMatchObject({ type: normal, tagName });
  });

  it("keeps the tag that was asked for, also with an older type", () => {
    expect(create({ type: "system-reminder", tagName: "note", contents: "x" })).toMatchObject({
      type: "reactive",
      tagName: "note",
    });
  });

  it.each([undefined, "", "users", "toString", "__proto__", 5, 1n, null, {}])(
    "refuses the type %s",
    (type) => {
      expect(() => create({ type, contents: "x" })).toThrow(refusal("invalid-argument"));
    },
  );

  it.each(["", "1a", "a b", "a>", 'a"', "a:b", "-a", "ä", "a".repeat(101), 5, 1n, null])(
    "refuses the name %s as a tag and as an attribute",
    (name) => {
      if (name !== null)
        expect(() => create({ type: "user", tagName: name, contents: "x" })).toThrow(
          refusal("invalid-argument"),
        );
      if (typeof name === "string")
        expect(() => create({ type: "user", attributes: { [name]: "v" }, contents: "x" })).toThrow(
          refusal("invalid-argument"),
        );
    },
  );

  it.each(["__proto__", "constructor", "prototype"])(
    "refuses %s as a key of attributes and metadata",
    (key) => {
      const bag = JSON.parse(`{ "${key}": "x" }`) as object;
      for (const field of ["attributes", "metadata"]) {
        expect(() => create({ type: "user", contents: "x", [field]: bag })).toThrow(
          refusal("invalid-argument"),
        );
      }
    },
  );

  it("drops attributes without a value", () => {
    const { attributes } = create({
      type: "user",
      contents: "x",
      attributes: { a: null, b: undefined, c: 0, d: false, e: "", f: Number.NaN },
    });
    expect(attributes).toEqual({ c: 0, d: false, e: "" });
    expect(create({ type: "user", contents: "x", attributes: { a: null } }).attributes).toBeUndefined();
  });

  it("refuses values that are not JSON", () => {
    const circular: Record<string, unknown> = {};
    circular["self"] = circular;
    for (const value of [1n, () => 1, Symbol("s"), circular]) {
      expect(() => create({ type: "user", contents: "x", attributes: { value } })).toThrow(
        refusal("invalid-argument"),
      );
    }
    expect(() => create({ type: "user", contents: "x", metadata: circular })).toThrow(
      refusal("invalid-argument"),
    );
    expect(() => create({ type: "user", contents: "x", providerOptions: { a: circular } })).toThrow(
      refusal("invalid-argument"),
    );
    expect(() =>
      create({ type: "user", contents: [{ type: "text", text: "x", providerOptions: { a: 5 } }] }),
    ).toThrow(refusal("invalid-argument"));
  });

  it("refuses contents that are neither text nor parts", () => {
    for (const contents of [
      undefined,
      null,
      5,
      1n,
      {},
      [null],
      ["text"],
      [{ type: "image" }],
      [{ type: "text" }],
    ]) {
      expect(() => create({ type: "user", contents })).toThrow(refusal("invalid-argument"));
    }
    for (const part of [
      { type: "file" },
      { type: "file", data: 5, mediaType: "a/b" },
      { type: "file", data: null },
    ]) {
      expect(() => create({ type: "user", contents: [part] })).toThrow(AgentError);
    }
  });

  it("refuses ids and dates that are none", () => {
    for (const id of ["", 5, "a\u0000", "\uD800", "a".repeat(257)]) {
      expect(() => create({ type: "user", contents: "x", id })).toThrow(refusal("invalid-argument"));
    }
    for (const createdAt of ["yesterday", Number.NaN, {}]) {
      expect(() => create({ type: "user", contents: "x", createdAt })).toThrow(refusal("invalid-argument"));
    }
    expect(create({ type: "user", contents: "x", id: "own", createdAt: 5 })).toMatchObject({
      id: "own",
      createdAt: new Date(5),
      acceptedAt: new Date(make.now()),
    });
  });

  it("refuses more text than the limit, attributes, metadata and options counted, and files apart", () => {
    const limits = { textBytes: 100, fileBytes: 50 };
    const many = "é".repeat(60);
    const file = (length: number) => ({ type: "file", data: "A".repeat(length), mediaType: "text/plain" });
    for (const more of [
      { contents: many },
      { contents: [{ type: "text", text: many }] },
      { contents: "x", attributes: { a: many } },
      { contents: "x", metadata: { a: many } },
      { contents: "x", providerOptions: { a: { b: many } } },
      { contents: [{ type: "text", text: "x", providerOptions: { a: { b: many } } }] },
      { contents: [file(60)] },
      { contents: [file(30), file(30)] },
    ]) {
      expect(() => create({ type: "user", ...more }, limits)).toThrow(refusal("limit-exceeded"));
    }
    expect(() =>
      create({ type: "user", contents: ["x".repeat(90)].map((text) => ({ type: "text", text })) }, limits),
    ).not.toThrow();
    expect(() =>
      create({ type: "user", contents: [file(40), { type: "text", text: "x".repeat(90) }] }, limits),
    ).not.toThrow();
  });

  it("takes a mebibyte of text by default and not a byte more", () => {
    expect(() => create({ type: "user", contents: "x".repeat(1 << 20) })).not.toThrow();
    expect(() => create({ type: "user", contents: "x".repeat((1 << 20) + 1) })).toThrow(
      refusal("limit-exceeded"),
    );
  });

  it("makes half surrogate pairs whole, so that any store can hold the text", () => {
    expect(create({ type: "user", contents: "a\uD800b" }).contents).toBe("a\uFFFDb");
    expect(create({ type: "user", contents: [{ type: "text", text: "\uDC00" }] }).contents).toEqual([
      { type: "text", text: "\uFFFD" },
    ]);
  });

  it("stays as it is when a changed copy is made", () => {
    const signal = create({ type: "user", contents: "x", attributes: { own: 1 } });
    const before = signal.toJSON();
    const later = signal.with({ attributes: { own: 2 }, createdAt: new Date(5) });
    expect(later.toJSON()).toEqual({
      ...before,
      attributes: { own: 2 },
      createdAt: new Date(5).toISOString(),
    });
    expect(signal.toJSON()).toEqual(before);
  });

  it("comes back from JSON as it was", () => {
    const signal = create({
      type: "notification",
      tagName: "review",
      contents: [
        { type: "text", text: "x" },
        { type: "file", data: new Uint8Array([1, 2]), mediaType: "image/png", filename: "a.png" },
      ],
      attributes: { a: [1] },
      metadata: { deep: { er: true } },
      providerOptions: { openai: { a: 1 } },
    });
    const again = reviveSignal(JSON.parse(JSON.stringify(signal)));
    expect(again).toEqual(signal);
    expect(again.toDBMessage({ threadId: "t" })).toEqual(signal.toDBMessage({ threadId: "t" }));
    expect(again.toLLMMessage()).toEqual(signal.toLLMMessage());
    expect(again.toDataPart()).toEqual(signal.toDataPart());
  });

  it("is stored as a message of role signal that holds the bare words", () => {
    const signal = create({ type: "reactive", contents: "<b>", attributes: { a: "1" }, metadata: { m: 1 } });
    const message = signal.toDBMessage({ threadId: "t", resourceId: "r" });
    expect(message).toMatchObject({
      id: "made",
      role: "signal",
      type: "system-reminder",
      threadId: "t",
      resourceId: "r",
    });
    expect(message.content.parts).toEqual([{ type: "text", text: "<b>" }]);
    expect(message.content.metadata).toEqual({
      signal: {
        id: "made",
        type: "reactive",
        tagName: "system-reminder",
        createdAt: "2023-11-14T22:13:20.000Z",
        acceptedAt: "2023-11-14T22:13:20.000Z",
        attributes: { a: "1" },
        metadata: { m: 1 },
      },
    });
  });

  it("is echoed as a transient chunk, named apart when a person wrote it", () => {
    expect(create({ type: "user", contents: "x" }).toDataPart()).toMatchObject({
      type: "data-user-message",
      transient: true,
      data: { id: "made", contents: "x", createdAt: "2023-11-14T22:13:20.000Z" },
    });
    expect(create({ type: "state", contents: "x" }).toDataPart().type).toBe("data-signal");
  });

  it("throws nothing but AgentError, whatever comes in", () => {
    const anything = fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true, maxDepth: 3 });
    const input = fc.record(
      {
        type: fc.oneof(fc.constantFrom("user", "state", "system-reminder"), anything),
        contents: fc.oneof(
          fc.string(),
          fc.array(
            fc.record(
              {
                type: fc.constantFrom("text", "file"),
                text: anything,
                data: anything,
                providerOptions: anything,
              },
              { requiredKeys: [] },
            ),
          ),
          anything,
        ),
        tagName: anything,
        attributes: anything,
        metadata: anything,
        providerOptions: anything,
        id: anything,
        createdAt: anything,
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fc.oneof(input, anything), (value) => {
        try {
          const signal = create(value);
          signal.toLLMMessage();
          JSON.stringify([signal, signal.toDBMessage(), signal.toDataPart()]);
        } catch (error) {
          if (!AgentError.is(error)) throw error;
        }
        try {
          create(messageToSignal(value as never));
        } catch (error) {
          if (!AgentError.is(error)) throw error;
        }
      }),
      { numRuns: 1000 },
    );
  });
});
