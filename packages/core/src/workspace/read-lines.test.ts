import { truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Tool } from "../tool/tool.ts";
import { scratch } from "./__fixtures__/scratch.ts";
import { readLines } from "./read-lines.ts";
import { Workspace } from "./workspace.ts";

const MIB = 1024 * 1024;

function scene() {
  const made = scratch();
  const workspace = new Workspace({ mounts: { "/m": made.files } });
  const read = async (name: string, input: object = {}): Promise<string> => {
    const tools = (await workspace.tools()) as Record<string, Tool>;
    const context = { path: `m/${name}`, ...input };
    return String(await tools["mastra_workspace_read_file"]!.execute({ context }));
  };
  return { ...made, read };
}

describe("read_file of a file that is too large to be read whole", () => {
  it("shows the wanted lines", async () => {
    const { root, read } = scene();
    const lines = Array.from({ length: 300_000 }, (_, index) => `line ${index + 1} ${"ü".repeat(20)}`);
    writeFileSync(join(root, "big.txt"), `${lines.join("\r\n")}\r\n`);
    const shown = await read("big.txt", { offset: 299_999 });
    expect(shown).toMatch(/^m\/big\.txt \(lines 299999-300000 of 300000, 16,\d+,\d+ bytes\)\n299999\tline/);
    expect(shown.split("\n")).toHaveLength(3);
    expect(await read("big.txt", { offset: 20, limit: 1, showLineNumbers: false })).toMatch(
      /\(lines 20-20 of 300000, .*\)\nline 20 ü{20}$/,
    );
    expect(await read("big.txt", { offset: 300_001 })).toBe(
      "m/big.txt has 300000 lines; line 300001 is past the end.",
    );
    expect(await read("big.txt")).toMatch(/More follows\. Use offset and limit to read a part\.$/);
  });

  it("shows the beginning of a line of 50 MB, and no bytes of binary data", async () => {
    const { root, read } = scene();
    writeFileSync(join(root, "line.txt"), Buffer.alloc(50 * MIB, "é"));
    expect((await read("line.txt")).length).toBeLessThan(50_000);
    writeFileSync(join(root, "binary"), Buffer.alloc(11 * MIB));
    expect(await read("binary")).toContain("is binary data");
  });

  it("refuses one of more than 100 MiB", async () => {
    const { root, read } = scene();
    writeFileSync(join(root, "sparse"), "");
    truncateSync(join(root, "sparse"), 10 * 2 ** 30);
    await expect(read("sparse", { limit: 1 })).rejects.toMatchObject({ code: "limit-exceeded" });
  });
});

it("counts and cuts lines across pieces as a split does", async () => {
  let seed = 7;
  const random = (below: number): number => (seed = (seed * 16807) % 2147483647) % below;
  for (let round = 0; round < 300; round++) {
    const text = Array.from({ length: random(30) }, () => "ab\n\n"[random(4)]).join("");
    const bytes = Buffer.from(text);
    const file = {
      size: bytes.length,
      read: async (at: number, length: number) => bytes.subarray(at, at + Math.min(length, 1 + random(5))),
    };
    const all = text.split("\n").map((line) => `${line}\n`);
    if (all.at(-1) === "\n") all.pop();
    else all.push(all.pop()!.slice(0, -1));
    const [offset, limit] = [1 + random(6), random(3) === 0 ? undefined : 1 + random(4)];
    const found = await readLines(file, { offset, limit, maxBytes: 1000 });
    expect([text, found.total]).toEqual([text, all.length]);
    expect(found.content.toString()).toBe(all.slice(offset - 1, limit && offset - 1 + limit).join(""));
  }
});
