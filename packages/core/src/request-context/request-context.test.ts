import { describe, expect, it } from "vitest";
import { RuntimeContext } from "../exports/runtime-context.ts";
import { agentWith } from "../agent/__fixtures__/agent-with.ts";
import { createTool } from "../tool/tool.ts";
import { RequestContext } from "./request-context.ts";

describe("RequestContext", () => {
  it("is a map that can be made from pairs or an object, and shown as JSON", () => {
    const context = new RequestContext({ a: 1, b: "x" });
    context.set("c", true);
    expect([context.get("a"), context.has("b"), context.size(), [...context.keys()]]).toEqual([
      1,
      true,
      3,
      ["a", "b", "c"],
    ]);
    expect(JSON.parse(JSON.stringify(context))).toEqual({ a: 1, b: "x", c: true });
    expect([...new RequestContext([["k", 1]])]).toEqual([["k", 1]]);
    expect([context.delete("a"), context.has("a"), context.without(["b"]).all]).toEqual([
      true,
      false,
      { c: true },
    ]);
    context.clear();
    expect(context.size()).toBe(0);
  });

  it("takes names of object properties for what they are", () => {
    const context = new RequestContext([["__proto__", { polluted: 1 }]]);
    expect(context.get("constructor")).toBeUndefined();
    expect(context.toJSON()["polluted"]).toBeUndefined();
  });

  it("reaches tools under both of its names, also given by the older one", async () => {
    expect(RuntimeContext).toBe(RequestContext);
    const seen: unknown[] = [];
    const t = createTool({
      id: "t",
      description: "",
      execute: async ({ requestContext, runtimeContext }) => void seen.push(requestContext, runtimeContext),
    });
    const runtimeContext = new RuntimeContext([["who", "ada"]]);
    const script = [{ toolCalls: [{ toolName: "t", input: {} }] }, "ok"];
    await agentWith(script, { tools: { t } }).agent.generate("hi", { runtimeContext });
    expect(seen).toEqual([runtimeContext, runtimeContext]);
    expect(seen[0]).toBe(runtimeContext);
  });
});
