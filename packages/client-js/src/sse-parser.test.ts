import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ServerSentEvent, SseParser } from "./sse-parser.ts";

function parse(...pieces: string[]): ServerSentEvent[] {
  const parser = new SseParser();
  return pieces.flatMap((piece) => parser.push(piece));
}

const line = fc.constantFrom(
  "data: a",
  "data:b",
  "data",
  "id: 7",
  "id",
  "event: end",
  ": hi",
  "retry: 3",
  "x: y",
  "",
);
const lineEnd = fc.constantFrom("\n", "\r", "\r\n");

describe("SseParser", () => {
  it("gives the same events wherever the pieces end", () => {
    const streams = fc.array(fc.tuple(line, lineEnd), { maxLength: 30 });
    fc.assert(
      fc.property(streams, fc.infiniteStream(fc.nat(4)), (lines, sizes) => {
        const text = lines.flat().join("");
        const pieces: string[] = [];
        for (let at = 0; at < text.length;) {
          const size = (sizes.next().value as number) + 1;
          pieces.push(text.slice(at, at + size));
          at += size;
        }
        expect(parse(...pieces)).toEqual(parse(text));
      }),
    );
  });

  it("takes every line end for the same, as the standard says", () => {
    const lines = ["id: 3", "event: note", "data: one", "data: two", "", "data: next", "", ""];
    const expected = [
      { type: "note", data: "one\ntwo", id: "3" },
      { type: "message", data: "next", id: "3" },
    ];
    for (const end of ["\n", "\r", "\r\n"]) expect(parse(lines.join(end))).toEqual(expected);
  });

  it("knows an id that came without data, and leaves comments out", () => {
    const parser = new SseParser();
    expect(parser.push("\uFEFF: connected\n\nid: 12\n\n: heartbeat\n\n")).toEqual([]);
    expect(parser).toMatchObject({ lastId: "12", comments: 2 });
  });

  it("drops an event that was not finished, with its id", () => {
    const parser = new SseParser();
    const events = parser.push("id: 1\ndata: whole\n\nid: 2\ndata: half\n");
    expect(events).toEqual([{ type: "message", data: "whole", id: "1" }]);
    expect(parser.lastId).toBe("1");
  });
});
