import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { RequestContext } from "../request-context/request-context.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { InMemoryResponseCache } from "./in-memory-response-cache.ts";
import type { ProcessLLMResponseArgs, Processor } from "./processor.ts";
import { buildResponseCacheKey, ResponseCache, type ResponseCacheOptions } from "./response-cache.ts";
import { StoredResponseCache } from "./stored-response-cache.ts";

const look = createTool({ id: "look", description: "", execute: async () => "seen" });
const script = ({ prompt, index }: { prompt: { role: string }[]; index: number }) =>
  prompt.at(-1)!.role === "tool"
    ? { text: ["Seen ", `in ${index}.`], reasoning: ["hm"] }
    : { toolCalls: [{ toolName: "look", input: { n: 1 } }], usage: { inputTokens: 5, outputTokens: 2 } };
const caching = (options: Partial<ResponseCacheOptions> = {}, more: Processor[] = []) =>
  agentWith(script as never, {
    tools: { look },
    inputProcessors: [new ResponseCache({ cache: new InMemoryResponseCache(), ...options }), ...more],
  });

describe("ResponseCache", () => {
  it("replays the same chunks without a call, runs tools again, and counts no tokens", async () => {
    const { agent, model } = caching();
    const first = await agent.stream("go");
    const shapeOf = (chunks: object[]) =>
      chunks.map((chunk) => {
        const { type, payload } = chunk as { type: string; payload: { text?: string; args?: unknown } };
        return [type, payload?.text, payload?.args];
      });
    const chunks = shapeOf(await chunksOf(first));
    const second = await agent.stream("go");
    expect(shapeOf(await chunksOf(second))).toEqual(chunks);
    expect(model.calls).toHaveLength(2);
    expect(await second.text).toBe(await first.text);
    expect((await second.totalUsage).totalTokens).toBe(0);
    expect((await second.steps)[0]!.providerMetadata).toEqual({ selvedge: { fromCache: true } });
  });

  it("tells processors what came from the cache", async () => {
    const seen: Pick<ProcessLLMResponseArgs, "fromCache" | "stepNumber">[] = [];
    const watcher: Processor = {
      id: "watcher",
      processLLMResponse({ fromCache, stepNumber, chunks }) {
        expect(chunks.length).toBeGreaterThan(0);
        seen.push({ fromCache, stepNumber });
      },
    };
    const { agent } = caching({}, [watcher]);
    await agent.generate("go");
    await agent.generate("go");
    expect(seen.map(({ fromCache }) => fromCache)).toEqual([false, false, true, true]);
  });

  it("asks again for another prompt, resource or model setting", async () => {
    const { agent, model } = caching();
    await agent.generate("go");
    await agent.generate("go there");
    await agent.generate("go", { temperature: 1 });
    expect(model.calls).toHaveLength(6);
  });

  it("keeps resources apart, unless the scope is shared", () => {
    const input = {
      agentId: "a",
      model: { provider: "p", modelId: "m" },
      request: { prompt: [] },
      stepNumber: 0,
    };
    const keys = ["r1", "r2", null].map((scope) => buildResponseCacheKey({ ...input, scope }));
    expect(new Set(keys).size).toBe(3);
    const reordered = { ...input, scope: "r1", request: { abortSignal: AbortSignal.abort(), prompt: [] } };
    expect(buildResponseCacheKey(reordered)).toBe(keys[0]);
  });

  it("forgets after `ttl`", async () => {
    const system = virtualSystem();
    const cache = new InMemoryResponseCache({ system });
    const { agent, model } = caching({ cache, ttl: 60 });
    await agent.generate("go");
    await system.advance(59_000);
    await agent.generate("go");
    expect(model.calls).toHaveLength(2);
    await system.advance(2000);
    await agent.generate("go");
    expect(model.calls).toHaveLength(4);
  });

  it("takes a key of your own, per cache or per call, and `bust` writes only", async () => {
    const { agent, model } = caching({ key: ({ agentId }) => `${agentId}/fixed` });
    await agent.generate("go");
    await agent.generate("something else");
    expect(model.calls).toHaveLength(2);
    await agent.generate("go", { requestContext: ResponseCache.context({ bust: true }) });
    expect(model.calls).toHaveLength(4);
    const context = ResponseCache.applyContext(new RequestContext(), { key: "other", scope: null });
    await agent.generate("go", { requestContext: context });
    expect(model.calls).toHaveLength(6);
    expect((await agent.generate("x")).text).toBe("Seen in 3.");
  });

  it("treats a cache that fails, or holds nonsense, as empty", async () => {
    const broken = {
      get: () => Promise.reject(new Error("down")),
      set: () => Promise.reject(new Error("down")),
    };
    expect((await caching({ cache: broken }).agent.generate("go")).text).toBe("Seen in 1.");
    for (const text of ["{", "{}", '"x"', "null"]) {
      const nonsense = { get: () => text, set: () => {} };
      expect((await caching({ cache: nonsense }).agent.generate("go")).text).toBe("Seen in 1.");
    }
  });

  it("keeps no reply that failed or was stopped by a processor", async () => {
    const cache = new InMemoryResponseCache();
    const inputProcessors = [new ResponseCache({ cache })];
    const stopper: Processor = {
      id: "stopper",
      processOutputStream: ({ part, abort }) => (part.type === "text-delta" ? abort("no") : part),
    };
    await agentWith(["bad"], { inputProcessors, outputProcessors: [stopper] }).agent.generate("go");
    const failing = { text: ["bad"], error: new Error("cut"), errorAfter: 2 };
    await agentWith([failing], { inputProcessors })
      .agent.generate("go")
      .catch(() => {});
    expect((await agentWith(["good"], { inputProcessors }).agent.generate("go")).text).toBe("good");
  });

  it("shares replies between processes through a store, and deletes old ones", async () => {
    const storage = new InMemoryStorage();
    const first = caching({ cache: new StoredResponseCache(storage) });
    await first.agent.generate("go");
    const second = caching({ cache: new StoredResponseCache(storage) });
    expect((await second.agent.generate("go")).text).toBe("Seen in 1.");
    expect(second.model.calls).toHaveLength(0);
    const cache = new StoredResponseCache(storage);
    await cache.set("a", "1", -10);
    expect(await cache.get("a")).toBeUndefined();
    await cache.set("b", "2", 10_000);
    await cache.set("b", "3", 10_000);
    expect(await cache.get("b")).toBe("3");
  });

  it("keeps memory within its size, and drops what was not used for longest", () => {
    const cache = new InMemoryResponseCache({ maxSize: 30 });
    cache.set("a", "x".repeat(9), 1000);
    cache.set("b", "x".repeat(9), 1000);
    cache.get("a");
    cache.set("c", "x".repeat(9), 1000);
    cache.set("d", "x".repeat(9), 1000);
    expect(["a", "b", "c", "d"].filter((key) => cache.get(key))).toEqual(["a", "c", "d"]);
  });

  it.each<[string, object]>([
    ["cache", {}],
    ["ttl", { ttl: 0 }],
    ["key", { key: 5 }],
    ["scope", { scope: 5 }],
    ["bust", { bust: "yes" }],
    ["agentId", { agentId: 1 }],
  ])("refuses a wrong %s", (option, options) => {
    const cache = option === "cache" ? {} : new InMemoryResponseCache();
    expect(() => new ResponseCache({ cache: cache as never, ...options })).toThrow(`\`${option}\``);
    expect(() => new InMemoryResponseCache({ maxSize: 0 })).toThrow("`maxSize`");
  });
});
