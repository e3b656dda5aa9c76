import type { Processor } from "@selvedge/core/processors";
import { describe, expect, test } from "vitest";
import { served } from "./__fixtures__/served.ts";

const circular: Record<string, unknown> = { n: 1n };
circular["self"] = circular;
const params = { agentId: "helper" };
const NO_USAGE = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

describe("an answer with a value that is not JSON", () => {
  test.each([
    ["a BigInt", 1n],
    ["a cycle", circular],
  ])("arrives, with the value described: %s of a processor", async (_, metadata) => {
    const stops: Processor = { id: "p", processOutputStep: ({ abort }) => abort("no", { metadata }) };
    const { json } = served(["hi"], { agent: { outputProcessors: [stops] } });
    const result = await json("generate", { params, body: { messages: "Hi" } });
    expect(result).toMatchObject({ finishReason: "tripwire", tripwire: { reason: "no" } });
    expect(JSON.stringify(result.tripwire)).toContain("1");
  });

  test("arrives, with the value described: one that a provider says about its reply", async () => {
    const { json } = served([
      {
        parts: [
          { type: "response-metadata", timestamp: circular as never },
          { type: "text-start", id: "1" },
          { type: "text-delta", id: "1", delta: "x".repeat(20_000) },
          { type: "text-end", id: "1" },
          { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: NO_USAGE },
        ],
      },
    ]);
    const { text } = await json("generate", { params, body: { messages: "Hi" } });
    expect(text).toHaveLength(20_000);
  });
});
