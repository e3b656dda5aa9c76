import { virtualSystem } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { agentWith, bareMemory, chunksOf } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { PrefillErrorHandler } from "./prefill-error-handler.ts";
import { PrepareStepProcessor } from "./prepare-step-processor.ts";
import type { ProcessAPIErrorArgs, Processor } from "./processor.ts";
import { ProviderHistoryCompat } from "./provider-history-compat.ts";
import { isLinear } from "./safe-pattern.ts";
import { StreamErrorRetryProcessor } from "./stream-error-retry.ts";
import { TokenLimiter } from "./token-limiter.ts";
import { ToolCallFilter } from "./tool-call-filter.ts";
import { TrailingAssistantGuard } from "./trailing-assistant-guard.ts";
import { UnicodeNormalizer } from "./unicode-normalizer.ts";

const call = (id: string, toolName = "look") => ({
  role: "assistant",
  content: [{ type: "tool-call", toolCallId: id, toolName, input: { id } }],
});
const result = (id: string, toolName = "look") => ({
  role: "tool",
  content: [{ type: "tool-result", toolCallId: id, toolName, output: { type: "text", value: `seen ${id}` } }],
});
const words = (n: number): string => "word ".repeat(n);
const look = createTool({ id: "look", description: "", execute: async () => "looked" });
const looks = { toolCalls: [{ toolName: "look", input: {} }] };

describe("ToolCallFilter", () => {
  const history = ["first", call("a"), result("a"), call("b", "find"), result("b", "find"), "last"];
  const rolesOf = (prompt: { role: string }[]): string => prompt.map(({ role }) => role[0]).join("");

  it("leaves calls of earlier turns out of the prompt, and nothing out of the store", async () => {
    const storage = new InMemoryStorage();
    const { agent, model } = agentWith([looks, "ok"], {
      tools: { look },
      inputProcessors: [new ToolCallFilter()],
      memory: bareMemory(storage),
    });
    await agent.generate(history, { memory: { thread: "t", resource: "r" } });
    expect(model.calls.map(({ prompt }) => rolesOf(prompt))).toEqual(["suu", "suuat"]);
    const stored = await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 9 });
    expect(JSON.stringify(stored)).toContain("seen a");
  });

  it("leaves only the tools in `exclude` out", async () => {
    const { agent, model } = agentWith(["ok"], {
      inputProcessors: [new ToolCallFilter({ exclude: ["find"] })],
    });
    await agent.generate(history);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("seen a");
    expect(JSON.stringify(model.calls[0]!.prompt)).not.toContain("seen b");
  });

  it("keeps the last steps of this run with `filterAfterToolSteps`", async () => {
    const { agent, model } = agentWith([looks, looks, looks, "ok"], {
      tools: { look },
      inputProcessors: [new ToolCallFilter({ filterAfterToolSteps: 1 })],
    });
    await agent.generate("go");
    expect(model.calls.map(({ prompt }) => rolesOf(prompt))).toEqual(["su", "suat", "suat", "suat"]);
  });

  it("puts a text in place with `preserveModelOutput`", async () => {
    const { agent, model } = agentWith(["ok"], {
      inputProcessors: [new ToolCallFilter({ preserveModelOutput: true })],
    });
    await agent.generate(history);
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("Result of look: seen a");
    expect(JSON.stringify(model.calls[0]!.prompt)).not.toContain("tool-call");
  });

  it("refuses options that are none", () => {
    expect(() => new ToolCallFilter({ exclude: "x" as never })).toThrow("`exclude`");
    expect(() => new ToolCallFilter({ filterAfterToolSteps: -1 })).toThrow("`filterAfterToolSteps`");
  });
});

describe("TokenLimiter with its options", () => {
  const asked = async (
    options: ConstructorParameters<typeof TokenLimiter>[0],
    input: unknown,
    more: Processor[] = [],
  ) => {
    const { agent, model } = agentWith(["ok"], { inputProcessors: [...more, new TokenLimiter(options)] });
    const { tripwire } = await agent.generate(input as never);
    return { tripwire, prompt: JSON.stringify(model.calls[0]?.prompt ?? "") };
  };

  it("keeps older messages that fit, or none before the first that does not", async () => {
    const input = ["tiny", `big ${words(100)}`, "newest"];
    expect((await asked({ limit: 40 }, input)).prompt).toMatch(/tiny.*newest/);
    const contiguous = await asked({ limit: 40, trimMode: "contiguous" }, input);
    expect(contiguous.prompt).not.toContain("tiny");
  });

  it("ends the run when the system messages or the steps of the run alone are too much", async () => {
    expect((await asked(2, "hi")).tripwire?.reason).toContain("system messages");
    const wordy = createTool({ id: "look", description: "", execute: async () => words(200) });
    const { agent } = agentWith([looks, "ok"], {
      tools: { look: wordy },
      inputProcessors: [new TokenLimiter(60)],
    });
    expect((await agent.generate("go")).tripwire?.reason).toContain("steps of this run");
  });

  it("counts images, and what is left after ToolCallFilter", async () => {
    const image = { role: "user", content: [{ type: "file", mediaType: "image/png", data: "aGk=" }] };
    expect((await asked(500, [image, "newest"])).prompt).not.toContain("image/png");
    const long = { ...call("a"), content: [{ ...call("a").content[0]!, input: words(200) }] };
    const input = ["old", long, result("a"), "newest"];
    const contiguous = { limit: 60, trimMode: "contiguous" } as const;
    expect((await asked(contiguous, input)).prompt).not.toContain("old");
    expect((await asked(contiguous, input, [new ToolCallFilter()])).prompt).toContain("old");
  });

  it("says on the stream that the limit is reached, once, and counts each part with `part`", async () => {
    const text = Array.from({ length: 20 }, () => "word ");
    const chunks = await chunksOf(
      await agentWith([{ text }], { outputProcessors: [new TokenLimiter(5)] }).agent.stream("go"),
    );
    const notes = chunks.filter(({ type }) => type === "data-token-limit-reached");
    expect(notes).toMatchObject([{ transient: true, data: { limit: 5 } }]);
    const parts = agentWith([{ text }], {
      outputProcessors: [new TokenLimiter({ limit: 5, countMode: "part" })],
    });
    expect((await parts.agent.generate("go")).text).toBe(text.join(""));
  });

  it("tells its limit, and refuses options that are none", () => {
    expect(new TokenLimiter(7).getMaxTokens()).toBe(7);
    for (const option of ["strategy", "countMode", "trimMode"])
      expect(() => new TokenLimiter({ limit: 1, [option]: "x" })).toThrow(`\`${option}\``);
  });
});

describe("UnicodeNormalizer with its options", () => {
  it("trims, and takes emoji out, when asked to", () => {
    expect(new UnicodeNormalizer().normalize("  a 👩‍👧  ")).toBe("a 👩‍👧");
    expect(new UnicodeNormalizer({ trim: false }).normalize(" a ")).toBe(" a ");
    expect(new UnicodeNormalizer({ preserveEmojis: false }).normalize("a👩‍👧🇩🇪b1")).toBe("ab1");
    expect(() => new UnicodeNormalizer({ trim: 1 as never })).toThrow("`trim`");
  });
});

describe("PrefillErrorHandler", () => {
  it("adds a reminder and asks once more", async () => {
    let failures = 1;
    const script = () => {
      if (failures-- > 0) throw new Error("This model does not support assistant message prefill.");
      return "ok";
    };
    const { agent, model } = agentWith(script, {
      inputProcessors: [new PrefillErrorHandler()],
      maxRetries: 0,
    });
    expect((await agent.generate("go")).text).toBe("ok");
    expect(JSON.stringify(model.calls[1]!.prompt.at(-1))).toContain("continue");
    failures = 9;
    await expect(agent.generate("go")).rejects.toThrow(/prefill/);
    expect(model.calls).toHaveLength(4);
  });
});

describe("TrailingAssistantGuard", () => {
  it("adds a user message for native structured output only", async () => {
    const schema = z.object({ a: z.number() });
    const input = ["hi", { role: "assistant", content: "So" }];
    const { agent, model } = agentWith(['{"a":1}', "ok"], {
      inputProcessors: [new TrailingAssistantGuard()],
    });
    await agent.generate(input as never, { structuredOutput: { schema } });
    await agent.generate(input as never);
    expect(model.calls.map(({ prompt }) => prompt.at(-1)!.role)).toEqual(["user", "assistant"]);
  });
});

describe("PrepareStepProcessor", () => {
  it("changes a step and leaves system messages alone", async () => {
    const { agent, model } = agentWith(["ok"], {
      tools: { look },
      inputProcessors: [
        new PrepareStepProcessor({ prepareStep: ({ messages }) => ({ messages, toolChoice: "none" }) }),
      ],
    });
    await agent.generate("go");
    expect(model.calls[0]).toMatchObject({ toolChoice: { type: "none" }, prompt: [{ role: "system" }, {}] });
    expect(() => new PrepareStepProcessor({} as never)).toThrow("`prepareStep`");
  });
});

describe("StreamErrorRetryProcessor", () => {
  const failing = (
    error: object,
    failures: number,
    options?: ConstructorParameters<typeof StreamErrorRetryProcessor>[0],
  ) => {
    const script = () => {
      if (failures-- > 0) throw Object.assign(new Error("failed"), error);
      return "ok";
    };
    return agentWith(script, { inputProcessors: [new StreamErrorRetryProcessor(options)], maxRetries: 0 });
  };
  const callsOf = async ({ agent, model }: ReturnType<typeof failing>): Promise<number> => {
    await agent.generate("go").catch(() => {});
    return model.calls.length;
  };

  it("retries what passes, once, and never a lack of authorization", async () => {
    expect(await callsOf(failing({ isRetryable: true }, 1))).toBe(2);
    expect(await callsOf(failing({ code: "server_error" }, 9))).toBe(2);
    expect(await callsOf(failing({ isRetryable: true }, 9, { maxRetries: 3 }))).toBe(4);
    expect(await callsOf(failing({ isRetryable: true, statusCode: 401 }, 1))).toBe(1);
    expect(await callsOf(failing({}, 1))).toBe(1);
    expect(await callsOf(failing({}, 1, { retryUnknownErrors: true }))).toBe(2);
  });

  it("asks matchers, each with its own number of retries", async () => {
    const match = (error: unknown) => (error as { odd?: boolean }).odd === true;
    expect(await callsOf(failing({ odd: true }, 9, { matchers: [match] }))).toBe(2);
    const told: number[] = [];
    const matcher = {
      match,
      maxRetries: 2,
      onRetry: ({ attempt }: { attempt: number }) => void told.push(attempt),
    };
    expect(await callsOf(failing({ odd: true }, 9, { matchers: [matcher] }))).toBe(3);
    expect(told).toEqual([1, 2]);
  });

  it("waits as long as the provider asks, up to a limit, and not after an abort", async () => {
    const system = virtualSystem();
    const controller = new AbortController();
    const args = {
      error: { isRetryable: true, responseHeaders: { "retry-after": "600" } },
      state: {},
      stepNumber: 0,
      system,
      abortSignal: controller.signal,
    } as unknown as ProcessAPIErrorArgs;
    const processor = new StreamErrorRetryProcessor({ maxRetryAfterMs: 5000, maxRetries: 2 });
    const start = system.now();
    const waiting = processor.processAPIError(args);
    await system.advance(5000);
    expect([await waiting, system.now() - start]).toEqual([{ retry: true }, 5000]);
    const aborted = processor.processAPIError(args);
    controller.abort(new Error("gone"));
    await expect(aborted).rejects.toThrow("gone");
  });

  it.each([
    ["maxRetries", { maxRetries: -1 }],
    ["delayMs", { delayMs: -5 }],
    ["maxRetryAfterMs", { maxRetryAfterMs: Number.NaN }],
    ["matchers[0]", { matchers: [{}] }],
  ])("refuses a wrong %s", (path, options) => {
    expect(() => new StreamErrorRetryProcessor(options as never)).toThrow(`\`${path}\``);
  });
});

describe("ProviderHistoryCompat", () => {
  const promptFor = async (provider: string, input: unknown, options = {}) => {
    const { scriptedModel } = await import("@selvedge/testing");
    const model = scriptedModel(["ok"], { provider });
    const { agent } = agentWith([], { model, inputProcessors: [new ProviderHistoryCompat(options)] });
    await agent.generate(input as never);
    return JSON.stringify(model.calls[0]!.prompt);
  };

  it("gives Anthropic tool ids that it accepts, and keeps different ones different", async () => {
    const input = [call("a.1"), result("a.1"), call("a:1"), result("a:1"), "go"];
    const prompt = await promptFor("anthropic.messages", input);
    expect(prompt.match(/"toolCallId":"[^"]+"/g)).toEqual(
      ["a_1", "a_1", "a_1_", "a_1_"].map((id) => `"toolCallId":"${id}"`),
    );
    expect(await promptFor("openai", input)).toContain("a.1");
  });

  it("leaves reasoning out for Cerebras, and empty reasoning for Anthropic", async () => {
    const answer = (text: string) => ({
      role: "assistant",
      content: [
        { type: "reasoning", text },
        { type: "text", text: "So." },
      ],
    });
    expect(await promptFor("cerebras", [answer("hm"), "go"])).not.toContain("hm");
    expect(await promptFor("openai", [answer("hm"), "go"])).toContain("hm");
    expect(await promptFor("anthropic", [answer(""), "go"])).not.toContain("reasoning");
  });

  it("applies a fix after an error that it knows, once", async () => {
    let failures = 1;
    const script = () => {
      if (failures-- > 0) throw new Error("odd word");
      return "ok";
    };
    const rule = {
      name: "mine",
      errorPatterns: [/odd word/],
      fix: (prompt: any) => prompt.filter(({ role }: { role: string }) => role !== "system"),
    };
    const { agent, model } = agentWith(script, {
      inputProcessors: [new ProviderHistoryCompat({ additionalRules: [rule] })],
      maxRetries: 0,
    });
    await agent.generate("go");
    expect(model.calls.map(({ prompt }) => prompt.length)).toEqual([2, 1]);
    failures = 9;
    await expect(agent.generate("go")).rejects.toThrow(/odd word/);
    expect(model.calls).toHaveLength(4);
  });

  it("refuses a rule that is none", () => {
    for (const rule of [{}, { name: "x", fix: 1 }, { name: "x", errorPatterns: ["x"] }])
      expect(() => new ProviderHistoryCompat({ additionalRules: [rule as never] })).toThrow(
        /additionalRules\[0\]\./,
      );
  });
});

describe("a pattern", () => {
  it.each(["abc", "a{1,20}b", "sk-[a-z]+", "a|b+", String.raw`\d{3}-\d{4}`, "(?:a|b)c?"])(
    "%s is linear",
    (source) => {
      expect(isLinear(source)).toBe(true);
    },
  );
  it.each(["(a+)+", "a+b", "(?:a|a)*", String.raw`(\w)\1`, "(?=a+)", "a{1,90}b{1,90}", "a*a*", "(a|b+)c"])(
    "%s may not be",
    (source) => {
      expect(isLinear(source)).toBe(false);
    },
  );
});
