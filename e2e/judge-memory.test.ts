import { describe, expect, test } from "vitest";
import { type Fact, makeConversation } from "../scripts/judge-memory/conversation.ts";
import { judgeFact, sentencesOf, sharedPrefix } from "../scripts/judge-memory/judge.ts";
import { measure } from "../scripts/judge-memory/measure.ts";
import { scriptedRoles } from "../scripts/judge-memory/roles.ts";

const LIMITS = { scope: "thread", messageTokens: 3000, observationTokens: 2000 } as const;

describe("the judge of memory", () => {
  const fact: Fact = {
    kind: "corrected",
    thing: "desk of Uma",
    value: "BB-2222",
    old: "AA-1111",
    from: 1,
    knownFrom: 2,
  };
  const gone: Fact = { ...fact, kind: "withdrawn", value: undefined };

  test.each<[string, Fact, string]>([
    ["The desk of Uma is AA-1111. Then: the desk of Uma is BB-2222, no longer AA-1111.", fact, "shown"],
    ["the desk of Uma is BB-2222.\nlater, the desk of Uma is AA-1111.", fact, "stale"],
    ["the desk of Theo is BB-2222.", fact, "missing"],
    ["", fact, "missing"],
    ["the desk of Uma is AA-1111.", gone, "stale"],
    ["the desk of Uma is AA-1111.\nthe desk of Uma is no longer valid.", gone, "shown"],
    ["", gone, "shown"],
  ])("reads %j", (prompt, one, verdict) => {
    expect(judgeFact(one, sentencesOf([prompt]))).toBe(verdict);
  });

  test("counts what a cache would hold", () => {
    expect(sharedPrefix(["abc", "def"], ["abc", "deX", "more"])).toEqual({ shared: 5, total: 10 });
    expect(sharedPrefix(["abc"], ["abc", "def"])).toEqual({ shared: 3, total: 6 });
  });

  test("plants every fact once, the same ones each time", () => {
    const { facts, turns } = makeConversation(500, 200);
    expect(new Set(facts.map(({ thing }) => thing)).size).toBe(200);
    expect(makeConversation(500, 200)).toEqual({ facts, turns });
    const all = turns.map((turn) => JSON.stringify(turn)).join("\n");
    for (const { value, old, said } of facts)
      for (const one of [said ?? value, old]) expect(all).toContain(one ?? "");
  });
});

describe("observational memory with a careful observer", () => {
  test("keeps every fact in reach and shows none that has changed", async () => {
    const conversation = makeConversation(80, 60);
    const result = await measure({ conversation, ...scriptedRoles("careful"), ...LIMITS });
    expect(result).toMatchObject({ reachable: 60, stale: 0, worstStale: 0, warnings: [] });
    expect(result.inPrompt).toBeGreaterThanOrEqual(57);
    expect(result.reflections).toBeGreaterThan(0);
    expect(result.cachedShare).toBeGreaterThan(0.85);
  });
});

describe("observational memory with a faulty observer", () => {
  test("keeps every fact in reach", async () => {
    const conversation = makeConversation(80, 60);
    const result = await measure({ conversation, ...scriptedRoles("faulty"), ...LIMITS });
    expect(result.reachable).toBe(60);
  });
});
