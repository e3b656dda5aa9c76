import { describe, expect, it } from "vitest";
import { agentWith, bareMemory } from "../agent/__fixtures__/agent-with.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { type CostQuery, TokenCostControl, type TokenCostControlOptions } from "./token-cost-control.ts";

async function ask(options: TokenCostControlOptions, requestContext?: RequestContext) {
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, warn: (text: string) => void warnings.push(text), error() {} };
  const step = { usage: { inputTokens: 1_000_000, outputTokens: 100_000, cachedInputTokens: 400_000 } };
  const call = { ...step, toolCalls: [{ toolName: "again", input: {} }] };
  const again = createTool({ id: "again", description: "", execute: async () => "ok" });
  const { agent, model } = agentWith([call, call, { ...step, text: "done" }], {
    tools: { again },
    inputProcessors: [new TokenCostControl(options)],
    memory: bareMemory(new InMemoryStorage()),
    logger: logger as never,
  });
  const output = await agent.generate("go", {
    memory: { thread: "t", resource: "r" },
    maxSteps: 5,
    ...(requestContext && { requestContext }),
  });
  return { output, calls: model.calls.length, warnings, name: `${model.provider}/${model.modelId}` };
}

describe("TokenCostControl", () => {
  it("ends the run at the limit, with the figures", async () => {
    const { output, calls } = await ask({
      maxCost: 5,
      getCost: () => ({ cost: 5.00004, breakdown: { a: 5 } }),
    });
    expect(calls).toBe(0);
    expect(output.tripwire).toMatchObject({
      reason: "The cost limit is reached: 5 of 5.",
      processorId: "token-cost-control",
      metadata: { scope: "resource", usage: 5.00004, limit: 5 },
    });
    expect(JSON.stringify(output.tripwire)).not.toContain("breakdown");
  });

  it("shows the parts of the cost if it is told to, and your message", async () => {
    const getCost = () => ({ cost: 9, breakdown: { a: 9 } });
    const { output } = await ask({
      maxCost: async () => 2,
      getCost,
      includeBreakdown: true,
      message: "{usage}/{limit}!",
    });
    expect(output.tripwire).toMatchObject({ reason: "9/2!", metadata: { breakdown: { a: 9 } } });
  });

  it.each([
    ["run", expect.any(String)],
    ["resource", "r"],
    ["thread", "t"],
    ["user", "u1"],
    ["organization", "o1"],
    ["session", "s1"],
  ] as const)("asks for the cost of a %s", async (scope, id) => {
    const queries: CostQuery[] = [];
    const context = new RequestContext([
      ["userId", "u1"],
      ["organizationId", "o1"],
      ["sessionId", "s1"],
    ]);
    await ask({ maxCost: 5, scope, window: "1h", getCost: (query) => void queries.push(query) }, context);
    expect(queries[0]).toEqual({ scope, id, since: expect.any(Date) });
  });

  it("knows the cost of a run from prices", async () => {
    // A step costs 0.6 * 2 + 0.4 * 1 + 0.1 * 10 = 2.6.
    const { name } = await ask({ maxCost: 1 });
    const prices = { [name]: { input: 2, output: 10, cachedInput: 1 } };
    const { output, calls } = await ask({ maxCost: 5.2, scope: "run", prices, includeBreakdown: true });
    expect(calls).toBe(2);
    expect(output.tripwire).toMatchObject({
      metadata: { usage: expect.closeTo(5.2), breakdown: { [name]: expect.closeTo(5.2) } },
    });
    expect((await ask({ maxCost: 5.3, scope: "run", prices })).calls).toBe(3);
  });

  it("only tells with the strategy warn, once", async () => {
    const violations: unknown[] = [];
    const onViolation = (violation: unknown) => void violations.push(violation);
    const { calls, warnings } = await ask({ maxCost: 1, strategy: "warn", getCost: () => 2, onViolation });
    expect(calls).toBe(3);
    expect(warnings).toHaveLength(1);
    expect(violations).toHaveLength(1);
  });

  it("tells once when it gets near the limit", async () => {
    const { calls, warnings } = await ask({ maxCost: 10, warnAtPercent: 80, getCost: () => 8 });
    expect(calls).toBe(3);
    expect(warnings).toEqual([expect.stringContaining("8 of 10")]);
    expect((await ask({ maxCost: 10, warnAtPercent: 80, getCost: () => 7.9 })).warnings).toEqual([]);
  });

  it.each<[string, TokenCostControlOptions]>([
    ["no cost data", { maxCost: 0 }],
    ["a model without a price", { maxCost: 0.1, scope: "run", prices: {} }],
    ["a limit that is not a number", { maxCost: () => Number.NaN, getCost: () => 9 }],
    [
      "a source that fails",
      {
        maxCost: 1,
        getCost: () => {
          throw new Error("down");
        },
      },
    ],
    ["no such id", { maxCost: 1, scope: "user", getCost: () => 9 }],
  ])("passes with a warning: %s", async (_, options) => {
    const { calls, warnings } = await ask(options);
    expect(calls).toBe(3);
    expect(warnings.length).toBeGreaterThan(0);
  });

  it.each([
    { maxCost: -1 },
    { maxCost: "5" },
    {},
    { maxCost: 1, scope: "world" },
    { maxCost: 1, window: "2h" },
    { maxCost: 1, strategy: "filter" },
    { maxCost: 1, warnAtPercent: 101 },
    { maxCost: 1, getCost: 5 },
    { maxCost: 1, prices: { a: { input: "1", output: 1 } } },
  ])("refuses %j", (options) => {
    expect(() => new TokenCostControl(options as never)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });
});
