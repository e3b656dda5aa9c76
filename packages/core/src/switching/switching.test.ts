import { scriptedModel } from "@selvedge/testing";
import { tool, ToolLoopAgent } from "ai";
import { z } from "zod";
import { describe, expect, it, vi } from "vitest";
import { Agent } from "../agent/agent.ts";
import { AgentError } from "../errors.ts";
import { Mastra } from "../mastra/mastra.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { MastraCompositeStore } from "./composite-store.ts";
import { convertMessages } from "./convert-messages.ts";
import { maskStreamTags } from "./mask-stream-tags.ts";
import { ErrorCategory, ErrorDomain, MastraError } from "./mastra-error.ts";
import { ConsoleLogger, createLogger } from "./mastra-logger.ts";
import { ModelRouterEmbeddingModel, ModelRouterLanguageModel } from "./model-router.ts";

describe("MastraError", () => {
  it("is what every error of the framework is an instance of", () => {
    expect(new AgentError("not-found", "gone")).toBeInstanceOf(MastraError);
    expect(new Error("other")).not.toBeInstanceOf(MastraError);
  });

  it("can be made by a program, with its own id, domain, details and cause", () => {
    const cause = new Error("disk full");
    const definition = {
      id: "SAVE_FAILED",
      domain: ErrorDomain.STORAGE,
      category: ErrorCategory.USER,
      details: { file: "a" },
    };
    const error = new MastraError(definition, cause);
    expect(error).toMatchObject({
      id: "SAVE_FAILED",
      domain: "STORAGE",
      category: "USER",
      message: "disk full",
      cause,
    });
    expect(error.details).toEqual({ file: "a", id: "SAVE_FAILED" });
    expect(AgentError.is(error, "invalid-argument")).toBe(true);
  });
});

describe("ConsoleLogger", () => {
  it("says what is at or above its level", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const info = vi.spyOn(console, "info").mockImplementation(() => {});
    const logger = createLogger({ name: "app", level: "warn" });
    logger.info("quiet");
    logger.warn("loud", { n: 1 });
    logger.child({ component: "db" }).warn("deep");
    expect(warn.mock.calls).toEqual([["[app] loud", { n: 1 }], ["[app/db] deep"]]);
    expect(info).not.toHaveBeenCalled();
    vi.restoreAllMocks();
  });

  it("is accepted by the host", () => {
    const logger = new ConsoleLogger({ level: "none" });
    expect(new Mastra({ logger }).getLogger()).toBe(logger);
  });
});

describe("convertMessages", () => {
  it("converts between the forms", () => {
    const converted = convertMessages([{ role: "user", content: "Hi" }]);
    expect(converted.to("AIV5.Model")).toEqual([{ role: "user", content: [{ type: "text", text: "Hi" }] }]);
    expect(converted.to("AIV5.UI")[0]).toMatchObject({ role: "user", parts: [{ type: "text", text: "Hi" }] });
    expect(converted.to("Mastra.V2")[0]!.content.format).toBe(2);
  });

  it("names the forms there are", () => {
    expect(() => convertMessages("Hi").to("AIV3" as never)).toThrow(/"AIV3".*Mastra\.V2, AIV5\.UI/);
  });
});

describe("MastraCompositeStore", () => {
  it("is its default store", () => {
    const storage = new InMemoryStorage();
    expect(new MastraCompositeStore({ id: "all", default: storage })).toBe(storage);
  });

  it("uses one store of several and says so", () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const [memory, runs] = [new InMemoryStorage(), new InMemoryStorage()];
    expect(new MastraCompositeStore({ domains: { memory, runs } })).toBe(memory);
    expect(warn.mock.calls[0]![0]).toMatch(/stores for runs are not used/);
    vi.restoreAllMocks();
  });

  it("needs a store", () => {
    expect(() => new MastraCompositeStore({})).toThrow(/default: new LibSQLStore/);
  });
});

describe("models by name as objects", () => {
  it("know their provider and id before they are opened", () => {
    expect(new ModelRouterLanguageModel("openai/gpt-5")).toMatchObject({
      provider: "openai",
      modelId: "gpt-5",
    });
    const embedder = new ModelRouterEmbeddingModel("openai/text-embedding-3-small");
    expect(embedder).toMatchObject({ provider: "openai", modelId: "text-embedding-3-small" });
  });

  it("say what is missing when they are used", async () => {
    const agent = new Agent({ name: "a", instructions: "", model: new ModelRouterLanguageModel("nobody/x") });
    await expect(agent.generate("Hi")).rejects.toThrow(/nobody/);
    await expect(new ModelRouterEmbeddingModel("nobody/x").doEmbed({ values: ["a"] })).rejects.toThrow(
      /nobody/,
    );
  });
});

describe("an agent's model", () => {
  it("is found behind any setting", async () => {
    const model = scriptedModel(["ok"]);
    const agent = new Agent({ name: "a", instructions: "", model: [{ model: () => model }] });
    expect((await agent.generate("Hi")).text).toBe("ok");
    expect(await agent.getModelList()).toHaveLength(1);
    const single = new Agent({ name: "a", instructions: "", model });
    expect(await single.getModelList()).toBeNull();
    expect((await single.getLLM()).getModelId()).toBe(model.modelId);
  });
});

it("registers an agent of the AI SDK, with its tools and settings", async () => {
  const model = scriptedModel([{ toolCalls: [{ toolName: "weather", input: { city: "Rome" } }] }, "Sunny."]);
  const weather = tool({
    description: "The weather",
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `sunny in ${city}`,
  });
  const host = new Mastra({
    agents: {
      weather: new ToolLoopAgent({ model, instructions: "Be brief.", tools: { weather }, temperature: 0.3 }),
    },
  });
  expect((await host.getAgent("weather").generate("Rome?")).text).toBe("Sunny.");
  expect(model.calls[0]).toMatchObject({ temperature: 0.3 });
  expect(JSON.stringify(model.calls[1]!.prompt)).toContain("sunny in Rome");
  expect(() => new Mastra({ agents: { wrong: {} as never } })).toThrow(/agents\.wrong must be an Agent/);
});

describe("maskStreamTags", () => {
  const masked = async (...chunks: string[]): Promise<[string, string[]]> => {
    const seen: string[] = [];
    let text = "";
    async function* stream(): AsyncGenerator<string> {
      yield* chunks;
    }
    const options = {
      onStart: () => void seen.push("start"),
      onMask: (inside: string) => void seen.push(inside),
      onEnd: () => void seen.push("end"),
    };
    for await (const chunk of maskStreamTags(stream(), "think", options)) text += chunk;
    return [text, seen];
  };

  it("removes what is inside, wherever the chunks end", async () => {
    const text = "a <think>secret</think> b <thin c";
    const expected = "a  b <thin c";
    for (let size = 1; size <= text.length; size++) {
      const chunks = text.match(new RegExp(`[^]{1,${size}}`, "g"))!;
      const [rest, seen] = await masked(...chunks);
      expect(rest).toBe(expected);
      expect(seen.slice(1, -1).join("")).toBe("secret");
      expect([seen[0], seen.at(-1)]).toEqual(["start", "end"]);
    }
  });
});
