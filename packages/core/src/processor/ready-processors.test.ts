import { growthOf } from "@selvedge/testing";
import { describe, expect, it } from "vitest";
import { agentWith, bareMemory, listOf } from "../agent/__fixtures__/agent-with.ts";
import { InMemoryStorage } from "../storage/in-memory-storage.ts";
import { createTool } from "../tool/tool.ts";
import { AgentsMDInjector } from "../exports/processors.ts";
import { AgentsMdReminder, type AgentsMdReminderOptions } from "./agents-md-reminder.ts";
import { SecretRedactor } from "./secret-redactor.ts";
import { TokenLimiter } from "./token-limiter.ts";
import { UnicodeNormalizer } from "./unicode-normalizer.ts";

const textOf = (content: unknown): string =>
  typeof content === "string"
    ? content
    : (content as { text?: string }[]).map((part) => part.text ?? "").join("");
const inPieces = (text: string, size: number) => text.match(new RegExp(`[^]{1,${size}}`, "g"))!;

describe("TokenLimiter", () => {
  const words = (n: number, word = "word") => Array.from({ length: n }, () => word).join(" ");

  it("drops the oldest messages and keeps system and newest", async () => {
    const { agent, model } = agentWith(["ok"], { inputProcessors: [new TokenLimiter(120)] });
    await agent.generate([`old ${words(100)}`, `mid ${words(30)}`, `new ${words(30)}`]);
    expect(model.calls[0]!.prompt.map((message) => textOf(message.content).slice(0, 3))).toEqual([
      "Be ",
      "mid",
      "new",
    ]);
  });

  it("keeps the newest message even if it is too long, and stores what it left out", async () => {
    const storage = new InMemoryStorage();
    const { agent, model } = agentWith(["ok"], {
      inputProcessors: [new TokenLimiter({ limit: 10 })],
      memory: bareMemory(storage),
    });
    await agent.generate(["old", `new ${words(50)}`], { memory: { thread: "t", resource: "r" } });
    expect(model.calls[0]!.prompt.map((message) => message.role)).toEqual(["system", "user"]);
    expect(
      await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 9 }),
    ).toHaveLength(3);
  });

  it("never parts a call from its result", async () => {
    const call = {
      role: "assistant",
      content: [{ type: "tool-call", toolCallId: "c", toolName: "t", input: { q: words(40) } }],
    };
    const result = {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c", toolName: "t", output: { type: "text", value: "r" } },
      ],
    };
    for (const limit of [20, 40, 60, 80, 100]) {
      const { agent, model } = agentWith(["ok"], { inputProcessors: [new TokenLimiter(limit)] });
      await agent.generate(["first", call, result, "last"]);
      const json = JSON.stringify(model.calls[0]!.prompt);
      expect(json.includes('"tool-call"')).toBe(json.includes('"tool-result"'));
    }
  });

  it("stops instead when asked to", async () => {
    const { agent } = agentWith(["ok"], {
      inputProcessors: [new TokenLimiter({ limit: 20, strategy: "abort" })],
    });
    expect((await agent.generate([words(50), "new"])).tripwire?.reason).toContain("20 tokens");
  });

  it("ends the answer at the limit, or stops the run there", async () => {
    const text = Array.from({ length: 50 }, () => "word ");
    const cut = await agentWith([{ text }], { outputProcessors: [new TokenLimiter(10)] }).agent.generate(
      "go",
    );
    expect(cut.text.split(" ").length).toBeLessThan(15);
    expect(cut.finishReason).toBe("stop");
    const stopped = await agentWith([{ text }], {
      outputProcessors: [new TokenLimiter({ limit: 10, strategy: "abort" })],
    }).agent.generate("go");
    expect(stopped.finishReason).toBe("tripwire");
  });

  it("refuses a limit that is none", () => {
    for (const limit of [0, -1, 1.5, Number.NaN, "x"])
      expect(() => new TokenLimiter(limit as never)).toThrow(/limit/);
  });
});

describe("UnicodeNormalizer", () => {
  it("brings text into one form and takes control characters out, before it is stored", async () => {
    const storage = new InMemoryStorage();
    const { agent, model } = agentWith(["ok"], {
      inputProcessors: [new UnicodeNormalizer()],
      memory: bareMemory(storage),
    });
    const message = {
      role: "user",
      content: [{ type: "text", text: "Cafe\u0301\u0000\u202E\r\nfi\uFB01 👩‍👧" }],
    };
    await agent.generate(message, { memory: { thread: "t", resource: "r" } });
    const expected = "Café\nfi\uFB01 👩‍👧";
    expect(textOf(model.calls[0]!.prompt.at(-1)!.content)).toBe(expected);
    expect(
      JSON.stringify(await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 1 })),
    ).not.toContain("\\u202e");
    expect(message.content[0]!.text).toContain("\u0000");
  });

  it("folds and collapses when asked to, in linear time", async () => {
    const normalizer = new UnicodeNormalizer({ form: "NFKC", collapseWhitespace: true });
    expect(normalizer.normalize(" ﬁne \t  day\n\n\n\n!  ")).toBe("fine day\n\n!".replace("day\n", "day\n"));
    expect(await growthOf((size) => normalizer.normalize(" \t\n".repeat(size)), 20_000)).toBeLessThan(1.5);
  });
});

describe("SecretRedactor", () => {
  const secrets = [
    "sk-proj-abcdefghijklmnop1234567890",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghijkl",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJlc2ln",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1234\nabcd+/==\n-----END RSA PRIVATE KEY-----",
  ];

  it.each(secrets)(
    "takes %s out, however it is cut into chunks, on the stream and in the store",
    async (secret) => {
      for (const size of [1, 3, 7, 1000]) {
        const storage = new InMemoryStorage();
        const { agent } = agentWith(
          [
            {
              text: inPieces(`Use ${secret} please.\nBye now.`, size),
              reasoning: inPieces(`is ${secret} it`, size),
            },
          ],
          { outputProcessors: [new SecretRedactor()], memory: bareMemory(storage) },
        );
        const output = await agent.stream("go", { memory: { thread: "t", resource: "r" } });
        expect((await listOf(output.textStream)).join("")).toBe("Use [redacted] please.\nBye now.");
        expect([await output.text, await output.reasoningText]).toEqual([
          "Use [redacted] please.\nBye now.",
          "is [redacted] it",
        ]);
        const stored = JSON.stringify(
          await (await storage.getStore("memory"))!.recentMessages({ threadId: "t", limit: 5 }),
        );
        expect(stored).not.toContain(secret.slice(8, 20));
      }
    },
  );

  it("takes out what comes after Bearer, and patterns of your own", async () => {
    const redactor = new SecretRedactor({ patterns: [/order no\. \d{6}/i], replacement: "***" });
    for (const size of [1, 4, 9]) {
      const { agent } = agentWith(
        [{ text: inPieces("Bearer abcdefghijklmnopqrstuvwx for Order no. 123456!", size) }],
        { outputProcessors: [redactor] },
      );
      expect((await agent.generate("go")).text).toBe("Bearer *** for ***!");
    }
  });

  it("leaves ordinary text alone and does not hold it back", async () => {
    const text = "A task-list, e.g. https://example.com/a/b?c=d and sk-short; eyJust words.";
    const output = await agentWith([{ text: inPieces(text, 5) }], {
      outputProcessors: [new SecretRedactor()],
    }).agent.stream("go");
    const pieces = await listOf(output.textStream);
    expect(pieces.join("")).toBe(text);
    expect(pieces.length).toBeGreaterThan(5);
  });

  it.each([
    ["token openings", "sk-"],
    ["JWT openings", "eyJ-"],
    ["key openings", "-----BEGIN PRIVATE KEY-----"],
    ["key ends", "-----END "],
    ["Bearers", "Bearer "],
    ["one long token", "a"],
    ["dashes", "-"],
  ])("reads %s without going back and forth", async (_, piece) => {
    const redactor = new SecretRedactor();
    const read = (size: number): string => redactor.redact(piece.repeat(Math.ceil(size / piece.length)));
    expect(await growthOf(read, 50_000)).toBeLessThan(1.5);
  });

  it("keeps what waits bounded", async () => {
    const read = async (size: number): Promise<void> => {
      const { agent } = agentWith([{ text: Array.from({ length: size }, () => "abcdefghijklmnopqrst") }], {
        outputProcessors: [new SecretRedactor()],
      });
      expect((await agent.generate("go")).text).toHaveLength(20 * size);
    };
    expect(await growthOf(read, 500)).toBeLessThan(1.5);
  });

  it("refuses a pattern that is none", () => {
    expect(() => new SecretRedactor({ patterns: ["x" as never] })).toThrow(/regular expressions/);
  });
});

describe("AgentsMdReminder", () => {
  const read = createTool({
    id: "read",
    description: "",
    execute: async () => ({ content: "Use <tabs> & commas." }),
  });
  const calls = { toolCalls: [{ toolName: "read", input: { path: "packages/ui/AGENTS.md" } }] };

  it("adds the instructions of a file that was read, once", async () => {
    const { agent, model } = agentWith([calls, calls, "done"], {
      tools: { read },
      inputProcessors: [new AgentsMdReminder()],
    });
    await agent.generate("go");
    const reminders = (index: number) =>
      model.calls[index]!.prompt.filter((message) => textOf(message.content).startsWith("<system-reminder"));
    expect(reminders(0)).toHaveLength(0);
    expect(reminders(1)).toHaveLength(1);
    expect(reminders(2)).toHaveLength(1);
    expect(textOf(reminders(2)[0]!.content)).toBe(
      '<system-reminder type="dynamic-agents-md" path="packages/ui/AGENTS.md">Use &lt;tabs&gt; &amp; commas.</system-reminder>',
    );
  });

  it("reads it your way, and leaves other files alone", async () => {
    const { agent, model } = agentWith([calls, "done"], {
      tools: { read },
      inputProcessors: [new AgentsMdReminder({ read: async (path) => `From ${path}.` })],
    });
    await agent.generate("go");
    expect(JSON.stringify(model.calls[1]!.prompt)).toContain("From packages/ui/AGENTS.md.");
    const other = agentWith([{ toolCalls: [{ toolName: "read", input: { path: "README.md" } }] }, "done"], {
      tools: { read },
      inputProcessors: [new AgentsMdReminder()],
    });
    await other.agent.generate("go");
    expect(JSON.stringify(other.model.calls[1]!.prompt)).not.toContain("system-reminder");
  });

  const promptWith = async (options: AgentsMdReminderOptions, path = "/repo/packages/ui/src/button.ts") => {
    const { agent, model } = agentWith([{ toolCalls: [{ toolName: "read", input: { path } }] }, "done"], {
      tools: { read },
      inputProcessors: [new AgentsMDInjector(options)],
    });
    await agent.generate("go");
    return JSON.stringify(model.calls[1]!.prompt);
  };
  const files: Record<string, string> = {
    "/repo/AGENTS.md": "Use spaces.",
    "/repo/packages/ui/AGENTS.md": "Use tabs.",
  };
  const reader = {
    pathExists: (path: string) => Object.hasOwn(files, path),
    isDirectory: async (path: string) => !path.includes("."),
    readFile: async (path: string) => files[path],
  };

  it("finds the file nearest to a path that a tool was called with", async () => {
    expect(await promptWith(reader)).toContain("Use tabs.");
    expect(await promptWith(reader, "/repo/packages/ui")).toContain("Use tabs.");
    expect(await promptWith(reader, "/repo/docs/a.md")).toContain("Use spaces.");
    expect(await promptWith(reader, "/elsewhere/a.md")).not.toContain("system-reminder");
    expect(await promptWith(reader, "https://example.com/repo/a.md")).not.toContain("system-reminder");
  });

  it("uses the reader of the request", async () => {
    expect(await promptWith({ getReader: async () => reader })).toContain("Use tabs.");
  });

  it("leaves out files that the model knows, and does nothing while it is off", async () => {
    const known = () => ["/repo/packages/ui/AGENTS.md"];
    expect(await promptWith({ ...reader, getIgnoredInstructionPaths: known })).not.toContain(
      "system-reminder",
    );
    expect(await promptWith({ ...reader, isEnabled: async () => false })).not.toContain("system-reminder");
  });

  it("shows 1,000 tokens of a file, or as many as you say, after a text of yours", async () => {
    const readFile = () => "word ".repeat(5000);
    const count = (prompt: string) => prompt.split("word").length - 1;
    expect(count(await promptWith({ ...reader, readFile }))).toBeLessThanOrEqual(1001);
    expect(count(await promptWith({ ...reader, readFile, maxTokens: 10 }))).toBeLessThanOrEqual(11);
    expect(await promptWith({ ...reader, reminderText: "Mind this." })).toContain(
      "Mind this.\\n\\nUse tabs.",
    );
  });

  it.each([{ maxTokens: 0 }, { reminderText: 1 }, { isEnabled: true }, { readFile: "x" }])(
    "refuses %j",
    (options) => {
      expect(() => new AgentsMdReminder(options as never)).toThrow(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );
});
