import { silentLogger } from "@selvedge/core";
import { Agent, type AgentExecutionOptions } from "@selvedge/core/agent";
import { AgentError } from "@selvedge/core/errors";
import { createTool } from "@selvedge/core/tools";
import { type Script, scriptedModel } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { AgentChunk } from "./chunk.ts";
import { ERROR_CODES } from "./error-codes.ts";
import { chunkSchema, errorSchema, storedMessageSchema } from "./schemas.ts";

const add = createTool({
  id: "add",
  description: "Adds.",
  inputSchema: z.object({ a: z.number(), b: z.number() }),
  execute: async ({ context }, { writer }) => {
    await writer.write({ progress: 1 });
    await writer.custom({ type: "data-progress", data: { done: true }, transient: true });
    return { sum: context.a + context.b };
  },
});
const fail = createTool({
  id: "fail",
  description: "Fails.",
  execute: () => Promise.reject(new Error("broken")),
});
const ask = createTool({ id: "ask", description: "Waits.", requireApproval: true, execute: () => "done" });

async function chunksOf(script: Script, options: AgentExecutionOptions = {}): Promise<AgentChunk[]> {
  const model = scriptedModel(script);
  const agent = new Agent({
    name: "a",
    instructions: "i",
    model,
    tools: { add, fail, ask },
    logger: silentLogger,
  });
  const output = await agent.stream("hello", options);
  const chunks: AgentChunk[] = [];
  for await (const chunk of output.fullStream) chunks.push(chunk);
  return chunks;
}

const RUNS: Record<string, () => Promise<AgentChunk[]>> = {
  "tools, reasoning, sources and files": () =>
    chunksOf([
      {
        reasoning: ["hm", "m"],
        text: "let me see",
        sources: [{ url: "https://example.com", title: "t" }],
        files: [{ mediaType: "image/png", data: "AAAA" }],
        toolCalls: [
          { toolName: "add", input: { a: 1, b: 2 } },
          { toolName: "add", input: "not json" },
          { toolName: "fail", input: {} },
          { toolName: "nobody", input: {} },
        ],
      },
      "The sum is 3.",
    ]),
  "structured output": () =>
    chunksOf([{ object: { city: "Bern" } }], {
      structuredOutput: { schema: z.object({ city: z.string() }) },
    }),
  "a waiting approval": () => chunksOf([{ toolCalls: [{ toolName: "ask", input: {} }] }]),
  "a failing model": () => chunksOf([{ error: new Error("no") }]),
  "an abort": () => chunksOf([{ text: "x", hang: true }], { abortSignal: AbortSignal.abort() }),
  "a tripwire": () =>
    chunksOf(["x"], { inputProcessors: [{ id: "guard", processInput: ({ abort }) => abort("no") }] }),
};

describe("chunkSchema", () => {
  it.each(Object.keys(RUNS))("takes every chunk of %s and leaves nothing out", async (name) => {
    const chunks = await RUNS[name]!();
    for (const chunk of chunks) expect(chunkSchema.parse(chunk)).toEqual(chunk);
  });

  it("takes chunks that came over a wire, with times as Date again", async () => {
    const chunks = await RUNS["tools, reasoning, sources and files"]!();
    const finish = chunks.find((chunk) => chunk.type === "finish");
    const received = chunkSchema.parse(JSON.parse(JSON.stringify(finish)));
    expect(received).toEqual(finish);
  });

  it("covers the chunk types a run makes", async () => {
    const all = await Promise.all(Object.values(RUNS).map((run) => run()));
    const types = new Set(all.flat().map((chunk) => chunk.type));
    expect([...types].sort()).toEqual(
      expect.arrayContaining([
        "abort",
        "data-progress",
        "error",
        "file",
        "finish",
        "object",
        "object-result",
        "reasoning-delta",
        "source",
        "start",
        "step-finish",
        "step-start",
        "text-delta",
        "tool-call",
        "tool-call-approval",
        "tool-call-delta",
        "tool-call-input-streaming-start",
        "tool-error",
        "tool-output",
        "tool-result",
        "tripwire",
      ]),
    );
  });

  it.each([
    { type: "text-delta", runId: "r", from: "AGENT", payload: { id: "1" } },
    { type: "text-delta", runId: "r", from: "NOBODY", payload: { id: "1", text: "x" } },
    { type: "no-such-type", runId: "r", from: "AGENT", payload: {} },
    { type: "text-delta", from: "AGENT", payload: { id: "1", text: "x" } },
  ])("refuses $type that does not fit", (chunk) => {
    expect(chunkSchema.safeParse(chunk).success).toBe(false);
  });
});

describe("storedMessageSchema", () => {
  it("takes the messages of a run", async () => {
    const chunks = await RUNS["tools, reasoning, sources and files"]!();
    const finish = chunks.find((chunk) => chunk.type === "finish");
    const messages = finish!.payload.messages.all;
    expect(messages.length).toBeGreaterThan(1);
    for (const message of messages) expect(storedMessageSchema.parse(message)).toEqual(message);
  });

  it("refuses another format", () => {
    const message = { id: "1", role: "user", createdAt: new Date(0), content: { format: 1, parts: [] } };
    expect(storedMessageSchema.safeParse(message).success).toBe(false);
  });
});

describe("errorSchema", () => {
  it("takes every error of the system as JSON", () => {
    for (const code of Object.keys(ERROR_CODES) as (keyof typeof ERROR_CODES)[]) {
      const error = new AgentError(code, "why", { details: { at: 1 } });
      const wire = JSON.parse(JSON.stringify(error)) as unknown;
      expect(errorSchema.parse(wire)).toEqual({
        name: "AgentError",
        code,
        message: "why",
        details: { at: 1 },
      });
    }
  });

  it("refuses a code it does not know", () => {
    expect(errorSchema.safeParse({ name: "AgentError", code: "nope", message: "" }).success).toBe(false);
  });
});
