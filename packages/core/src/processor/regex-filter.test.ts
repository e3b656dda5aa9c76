import { growthOf } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory, listOf } from "../agent/__fixtures__/agent-with.ts";
import { silentLogger } from "../logger.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { RegexFilterProcessor, type RegexFilterOptions } from "./regex-filter.ts";
import type { ProcessorViolation } from "./violation.ts";

const redact = (options: RegexFilterOptions) => new RegexFilterProcessor({ strategy: "redact", ...options });
const streamed = async (text: string[], filter: RegexFilterProcessor): Promise<string> => {
  const output = await agentWith([{ text }], { outputProcessors: [filter] }).agent.stream("go");
  return (await listOf(output.textStream)).join("");
};

const SAMPLES: [preset: "pii" | "secrets" | "urls", text: string, expected: string][] = [
  ["pii", "Write to jane.doe+x@mail.example.co.uk.", "Write to [EMAIL]."],
  ["pii", "Call (555) 123-4567 now", "Call [PHONE] now"],
  ["pii", "Call +44 20 7946 0958 now", "Call [PHONE] now"],
  ["pii", "SSN 123-45-6789, ok", "SSN [SSN], ok"],
  ["pii", "Card 4111 1111 1111 1111 ok", "Card [CREDIT_CARD] ok"],
  ["secrets", "key sk-proj-abcdefghijklmnop1234 ok", "key [API_KEY] ok"],
  ["secrets", "Bearer abcdefghijklmnopqrst ok", "[BEARER_TOKEN] ok"],
  ["secrets", "AKIAIOSFODNN7EXAMPLE ok", "[AWS_KEY] ok"],
  ["urls", "See https://example.com/a?b=c.", "See [URL]."],
];

describe("RegexFilterProcessor", () => {
  it.each(SAMPLES)(
    "finds what the preset %s has in %j, cut at every position",
    async (preset, text, expected) => {
      const filter = redact({ presets: [preset] });
      for (let at = 0; at <= text.length; at++)
        expect(await streamed([text.slice(0, at), text.slice(at)], filter)).toBe(expected);
      expect(await streamed(text.split(""), filter)).toBe(expected);
    },
  );

  it("loses and moves nothing, however a text is cut, and finds what the whole text has", async () => {
    const words = [
      "a@b.co",
      "plain",
      "123-45-6789",
      "https://x.org/y",
      "é👩‍👧",
      "\n",
      "12",
      "sk-abcdefghijklmnopqrstuv",
    ];
    const filter = redact({ presets: ["pii", "urls", "secrets"], streamCarryoverSize: 64 });
    let seed = 7;
    const random = (n: number): number => (seed = (seed * 1103515245 + 12345) % 2147483648) % n;
    for (let round = 0; round < 60; round++) {
      const text = Array.from({ length: 40 }, () => words[random(words.length)]).join(" ");
      const pieces: string[] = [];
      for (let at = 0; at < text.length;) {
        const next = at + 1 + random(30);
        pieces.push(text.slice(at, next));
        at = next;
      }
      expect(await streamed(pieces, filter)).toBe(await streamed([text], filter));
    }
  });

  it("ends the run before a match goes out, and says which rule it was, not what it found", async () => {
    const text = ["My number is 123-", "45-6789", " and more. ".repeat(30)];
    const { agent } = agentWith([{ text }], {
      outputProcessors: [new RegexFilterProcessor({ presets: ["pii"] })],
    });
    const output = await agent.stream("go");
    expect((await listOf(output.textStream)).join("")).not.toContain("123");
    expect(output.tripwire).toMatchObject({
      processorId: "regex-filter",
      metadata: { rules: ["ssn"], phase: "output" },
    });
    expect(JSON.stringify(output.tripwire)).not.toContain("6789");
  });

  it("checks new input before it is stored, and leaves it alone in the phase `output`", async () => {
    const storage = new InMemoryStorage();
    const memory = bareMemory(storage);
    const thread = { memory: { thread: "t", resource: "r" } };
    const stored = async () =>
      JSON.stringify(await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 9 }));
    const redacting = agentWith(["ok"], { memory, inputProcessors: [redact({ presets: ["pii"] })] });
    await redacting.agent.generate("I am a@b.co", thread);
    expect(JSON.stringify(redacting.model.calls[0]!.prompt)).toContain("I am [EMAIL]");
    expect(await stored()).not.toContain("a@b.co");

    const blocking = agentWith(["ok"], { inputProcessors: [new RegexFilterProcessor({ presets: ["pii"] })] });
    expect((await blocking.agent.generate("I am a@b.co")).tripwire?.metadata).toMatchObject({
      phase: "input",
    });
    expect(blocking.model.calls).toHaveLength(0);

    const output = agentWith(["ok"], {
      inputProcessors: [new RegexFilterProcessor({ presets: ["pii"], phase: "output" })],
    });
    expect((await output.agent.generate("I am a@b.co")).text).toBe("ok");
  });

  it("only looks at the input in the phase `input`", async () => {
    expect(await streamed(["a@b.co"], redact({ presets: ["pii"], phase: "input" }))).toBe("a@b.co");
  });

  it("warns and passes, and tells `onViolation`, whose errors do not matter", async () => {
    const told: ProcessorViolation[] = [];
    const warnings: string[] = [];
    const filter = new RegexFilterProcessor({
      rules: [{ name: "word", pattern: /secret/i }],
      strategy: "warn",
      includeRedactedValues: true,
      onViolation: async (violation) => {
        told.push(violation);
        throw new Error("no");
      },
    });
    const { agent } = agentWith(["A Secret."], {
      outputProcessors: [filter],
      logger: { ...silentLogger, warn: (message) => void warnings.push(message) },
    });
    expect((await agent.generate("go")).text).toBe("A Secret.");
    expect(told.map(({ detail }) => detail["matches"])).toEqual([[{ rule: "word", value: "Secret" }]]);
    expect(warnings.some((message) => message.includes('"word"'))).toBe(true);
  });

  it("keeps values from `onViolation` unless asked", async () => {
    const told: ProcessorViolation[] = [];
    const filter = redact({ presets: ["pii"], onViolation: (violation) => void told.push(violation) });
    expect(await streamed(["a@b.co"], filter)).toBe("[EMAIL]");
    expect(JSON.stringify(told)).not.toContain("a@b.co");
  });

  it("makes one region of matches that overlap, and the longest names it", async () => {
    const filter = redact({
      rules: [
        { name: "short", pattern: /bcd/, replacement: "<short>" },
        { name: "long", pattern: /cdefgh/, replacement: "<long>" },
      ],
    });
    expect(await streamed(["abcdefghij"], filter)).toBe("a<long>ij");
  });

  it("replaces with [REDACTED] where a rule does not say", async () => {
    expect(await streamed(["a1b"], redact({ rules: [{ name: "n", pattern: /\d/ }] }))).toBe("a[REDACTED]b");
  });

  it("ends the run when a pattern goes back and forth, or goes on without the rule", async () => {
    const rules = [{ name: "slow", pattern: /(a+)+$/ }];
    const text = `${"a".repeat(60)}!`;
    const { agent } = agentWith(["ok"], { inputProcessors: [new RegexFilterProcessor({ rules })] });
    expect((await agent.generate(text)).tripwire?.reason).toContain('"slow"');
    const warning = agentWith(["ok"], {
      inputProcessors: [new RegexFilterProcessor({ rules, strategy: "warn" })],
    });
    expect((await warning.agent.generate([text, text])).text).toBe("ok");
  });

  it("replaces any number of matches", async () => {
    const { agent, model } = agentWith(["ok"], {
      inputProcessors: [redact({ rules: [{ name: "a", pattern: /a/, replacement: "b" }] })],
    });
    await agent.generate("a ".repeat(200_000));
    expect(JSON.stringify(model.calls[0]!.prompt)).toContain("b ".repeat(200_000).trimEnd());
  });

  it.each(["a", "1", "1 ", "a.", "@a", "http://", "-1", "A1", "(1", "+1 ", ": ", "sk-"])(
    "reads many %j in time that grows with their number",
    async (piece) => {
      const filter = redact({ presets: ["pii", "secrets", "urls"] });
      const read = async (size: number) => {
        await agentWith(["ok"], { inputProcessors: [filter] }).agent.generate(piece.repeat(size));
      };
      expect(await growthOf(read, 20_000)).toBeLessThan(1.6);
    },
  );

  it.each<[string, object, string]>([
    ["nothing", {}, "`rules`"],
    ["a preset", { presets: ["x"] }, "`presets[0]`"],
    ["a strategy", { presets: ["pii"], strategy: "mask" }, "`strategy`"],
    ["a phase", { presets: ["pii"], phase: "x" }, "`phase`"],
    ["a carry-over", { presets: ["pii"], streamCarryoverSize: -1 }, "`streamCarryoverSize`"],
    ["a pattern", { rules: [{ name: "n", pattern: "x" }] }, "`rules[0].pattern`"],
    ["a name", { rules: [{ pattern: /x/ }] }, "`rules[0].name`"],
    ["a callback", { presets: ["pii"], onViolation: 1 }, "`onViolation`"],
  ])("refuses %s that is none", (_, options, path) => {
    expect(() => new RegexFilterProcessor(options as never)).toThrow(path);
  });
});
