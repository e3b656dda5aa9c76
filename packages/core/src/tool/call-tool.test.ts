import { describe, expect, test } from "vitest";
import { z } from "zod";
import { DEFAULT_RUN_LIMITS } from "../agent/resolve-run.ts";
import { callTool } from "./call-tool.ts";
import { createTool } from "./tool.ts";

const limits = DEFAULT_RUN_LIMITS;

describe("callTool", () => {
  test("checks the input, runs and checks the output", async () => {
    const tool = createTool({
      id: "double",
      description: "doubles",
      inputSchema: z.object({ n: z.number() }),
      outputSchema: z.object({ twice: z.number() }),
      execute: async ({ context }) => ({ twice: context.n * 2 }),
    });
    expect(await callTool(tool, { name: "double", input: { n: 2 }, limits })).toEqual({ twice: 4 });
    const unfit = callTool(tool, { name: "double", input: { n: "x" }, limits });
    await expect(unfit).rejects.toMatchObject({
      code: "tool-input-invalid",
      details: { issues: [{ path: ["n"], message: expect.any(String) }] },
    });
  });

  test("has no progress to save or to read", async () => {
    const tool = createTool({
      id: "steps",
      description: "",
      execute: async (_, { saveProgress, progress }) => [await saveProgress({ at: 1 }), progress],
    });
    expect(await callTool(tool, { name: "steps", input: {}, limits })).toEqual([undefined, undefined]);
    expect(await tool.execute({})).toEqual([undefined, undefined]);
  });

  test("does not run what a person has to approve, unless somebody did", async () => {
    let ran = 0;
    const tool = createTool({
      id: "pay",
      description: "pays",
      requireApproval: true,
      execute: async () => ++ran,
    });
    const unasked = callTool(tool, { name: "pay", input: {}, limits });
    await expect(unasked).rejects.toMatchObject({ code: "forbidden" });
    expect(ran).toBe(0);
    expect(await callTool(tool, { name: "pay", input: {}, limits, approved: true })).toBe(1);
  });

  test("a failure, a suspension and a tool without a function are told apart", async () => {
    const failing = createTool({
      id: "f",
      description: "",
      execute: async () => {
        throw new Error("broken");
      },
    });
    await expect(callTool(failing, { name: "f", input: {}, limits })).rejects.toMatchObject({
      code: "tool-failed",
      message: 'Tool "f" failed: broken',
    });
    const waiting = createTool({ id: "w", description: "", execute: async (_, { suspend }) => suspend({}) });
    await expect(callTool(waiting, { name: "w", input: {}, limits })).rejects.toMatchObject({
      code: "not-supported",
    });
    const client = createTool({ id: "c", description: "" });
    await expect(callTool(client, { name: "c", input: {}, limits })).rejects.toMatchObject({
      code: "not-supported",
    });
  });
});
