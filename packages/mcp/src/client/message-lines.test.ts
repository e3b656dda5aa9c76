import fc from "fast-check";
import { expect, it } from "vitest";
import { MessageLines } from "./message-lines.ts";

const read = (chunks: Iterable<Buffer>): unknown[] => {
  const lines = new MessageLines();
  return [...chunks].flatMap((chunk) => [...lines.read(chunk)]);
};

it("finds the same messages wherever the stream was cut, also in the middle of a character", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(
      fc.array(fc.record({ jsonrpc: fc.constant("2.0"), text })),
      fc.integer({ min: 1, max: 7 }),
      (messages, size) => {
        const bytes = Buffer.from(messages.map((message) => `${JSON.stringify(message)}\n`).join(""));
        const chunks = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
        expect(read(chunks)).toEqual(JSON.parse(JSON.stringify(messages)));
      },
    ),
  );
});

it("passes over chatter, empty lines and what is no message", () => {
  expect(read([Buffer.from('Listening…\r\n\n{"a":1}\r\nnull\n3\n{"b"\n{"c":3}\n')])).toEqual([
    { a: 1 },
    { c: 3 },
  ]);
});

it("gives up on a line that does not end, and starts anew", () => {
  const lines = new MessageLines();
  const endless = Buffer.alloc(1024 * 1024, "x");
  const flood = (): void => {
    for (let count = 0; count < 11; count++) Array.from(lines.read(endless));
  };
  expect(flood).toThrow(/more than 10485760 bytes/);
  expect([...lines.read(Buffer.from('{"a":1}\n'))]).toEqual([{ a: 1 }]);
});
