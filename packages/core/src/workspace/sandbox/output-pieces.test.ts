import { growthOf, virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { BeginningAndEnd, KeptOutput } from "./kept-output.ts";
import { type OutputPiece, OutputPieces } from "./output-pieces.ts";

function scene(): { output: OutputPieces; pieces: OutputPiece[]; system: ReturnType<typeof virtualSystem> } {
  const pieces: OutputPiece[] = [];
  const system = virtualSystem();
  return { output: new OutputPieces(system, (piece) => pieces.push(piece)), pieces, system };
}

describe("the pieces of an output", () => {
  it("are joined for 32 ms or 16 KiB, and have whole characters", async () => {
    const { output, pieces, system } = scene();
    const bytes = Buffer.from("grüße 🙂");
    for (const byte of bytes) output.push("stdout", Buffer.from([byte]));
    output.push("stderr", Buffer.from("oh"));
    expect(pieces).toEqual([]);
    await system.advance(32);
    expect(pieces).toEqual([
      { stream: "stdout", output: "grüße 🙂" },
      { stream: "stderr", output: "oh" },
    ]);
    pieces.length = 0;
    output.push("stdout", Buffer.from("ü".repeat(10_000)));
    expect(pieces).toHaveLength(1);
    output.flush();
    expect(pieces.every((piece) => Buffer.byteLength(piece.output) <= 16 * 1024 + 3)).toBe(true);
    expect(pieces.map((piece) => piece.output).join("")).toBe("ü".repeat(10_000));
  });

  it("are samples after 256 KiB: four per second, with a count of what they leave out", async () => {
    const { output, pieces, system } = scene();
    const chunk = Buffer.alloc(64 * 1024, "x");
    for (let sent = 0; sent < 4; sent++) output.push("stdout", chunk);
    output.flush();
    expect(pieces.map((piece) => piece.output).join("")).toHaveLength(256 * 1024);
    pieces.length = 0;
    for (let turn = 0; turn < 100; turn++) {
      output.push("stdout", chunk);
      await system.advance(10);
    }
    await system.advance(250);
    expect(pieces.length).toBeLessThanOrEqual(5);
    const counted = pieces.reduce((sum, piece) => sum + piece.output.length + (piece.leftOutBytes ?? 0), 0);
    expect(counted).toBe(100 * chunk.length);
    output.push("stdout", Buffer.from("end"));
    output.flush();
    expect(pieces.at(-1)).toEqual({ stream: "stdout", output: "end" });
  });

  it("cost the same per line, however many came before", async () => {
    const line = Buffer.from("a line of output, as programs write them\n");
    const work = (lines: number): void => {
      const { output } = scene();
      const kept = new KeptOutput(1 << 20);
      const both = new BeginningAndEnd(1 << 18);
      for (let count = 0; count < lines; count++) {
        output.push("stdout", line);
        kept.append(line);
        both.append(line);
      }
    };
    expect(await growthOf(work, 10_000)).toBeLessThan(1.4);
  });
});

describe("a kept output", () => {
  it("is the end of what was written, whatever the pieces", () => {
    const all = Buffer.from(Array.from({ length: 5000 }, (_, index) => index % 251));
    for (const size of [1, 7, 99, 100, 101, 1000]) {
      const kept = new KeptOutput(100);
      for (let start = 0; start < all.length; start += size) kept.append(all.subarray(start, start + size));
      expect(kept.bytes().equals(all.subarray(-100)), `pieces of ${size}`).toBe(true);
      expect(kept.droppedBytes).toBe(4900);
    }
    const text = new KeptOutput(5);
    text.append(Buffer.from("ab🙂c"));
    expect(text.text()).toBe("🙂c");
    text.append(Buffer.from("d"));
    expect(text.text()).toBe("cd");
  });

  it("can be its beginning and its end", () => {
    const output = new BeginningAndEnd(4);
    output.append(Buffer.from("abc"));
    output.append(Buffer.from("def"));
    expect(output.text()).toBe("abcdef");
    output.append(Buffer.from("ghijkl"));
    expect(output.text()).toBe("abcd\n… 4 bytes left out …\nijkl");
  });
});
