import { describe, expect, it } from "vitest";
import { detectWrap, wrapBlock } from "./wrap-block.ts";

describe("detectWrap", () => {
  it.each([
    ["module", "const a = 1"],
    ["module", "// a comment\nimport { a } from 'a'\nexport const b = a"],
    ["module", "loom.beat({\n  count: 2,\n})"],
    ["module", "new Loom({ warp: await spin() });"],
    ["module", "if (loom.hasWarp()) {\n  // ...\n}"],
    ["module", "open(\n  path,\n  { flag: true },\n)"],
    ["module", "interface Thread {\n  id: string\n}"],
    ["function-body", "return { colour: 'red' }"],
    ["class-member", "async beat(): Promise<void>"],
    ["class-member", "warpOf(loom: string): Warp | undefined"],
    ["class-member", "constructor({\n  warp?: number;\n}: LoomOptions)"],
    ["class-member", "async beat({ count }: {\n  count: number;\n}): Promise<{ done: boolean }>"],
    ["object-fragment", "// inside a loom\nexecute: async ({ context }) => {\n  return 1\n}"],
    ["object", '{\n  "count": { "$gt": 2.0 }\n}'],
    ["object", "{\n  type: 'object',\n  required: ['name'],\n}"],
    ["type", "{\n  id: string;  // which\n  parts: number[];\n}"],
  ])("takes for a %s: %j", (wrap, code) => {
    expect(detectWrap(code)).toBe(wrap);
  });
});

describe("wrapBlock", () => {
  it("turns a method's signature into an interface member on the same lines", () => {
    const wrapped = wrapBlock(
      "async beat({\n  count,\n  hard = { by: () => 1 },\n}: {\n  count: number;\n}): Promise<void>",
    );
    expect(wrapped.before).toBe("interface Documented {");
    expect(wrapped.code).toBe("beat(options\n\n\n: {\n  count: number;\n}): Promise<void>");
  });

  it("turns a constructor's signature into a construct signature", () => {
    expect(wrapBlock("constructor({\n  warp?: number;\n}: LoomOptions)").code).toBe(
      "new(options\n\n: LoomOptions): object",
    );
  });
});
