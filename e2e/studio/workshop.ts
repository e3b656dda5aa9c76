import { Mastra, silentLogger } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { InMemoryStorage } from "@selvedge/core/storage";
import { createTool } from "@selvedge/core/tools";
import type { Workspace } from "@selvedge/core/workspace";
import { Memory, type ObservationalMemoryOptions } from "@selvedge/memory";
import { serve, type ServeOptions } from "@selvedge/server/node";
import { studioFolder } from "@selvedge/studio";
import { type ScriptedCall, scriptedModel, type ScriptedReply } from "@selvedge/testing";
import { z } from "zod";

/** A server with the studio, an agent that writes awkward things, and a tool with an awkward schema. */
export interface Workshop {
  readonly url: string;
  /** Puts a thread of so many short messages into the store. */
  fill(threadId: string, count: number): Promise<void>;
  close(): Promise<void>;
}

const LONG_LINE = `const woven = [${Array.from({ length: 60 }, (_, index) => `"thread-${index}"`).join(", ")}];`;

const ESSAY = `# On weaving

A paragraph with **bold**, *emphasis*, \`code\`, ~~nothing~~ and a [link](https://example.com/loom).

\`\`\`ts
export function weave(warp: string[], weft: string[]): string[] {
${Array.from({ length: 40 }, (_, index) => `  // pass ${index + 1}\n  shuttle.throw(${index});`).join("\n")}
  return warp;
}
${LONG_LINE}
\`\`\`

| yarn | metres | ${"a column with a long name ".repeat(4)}|
|---|---:|---|
| indigo | 912 | yes |
| ecru | 7 | no |

1. First
   - nested
2. Second

> A quotation.

<img src="https://example.com/tracker.png" onerror="alert(1)"> and ![a picture](https://example.com/cat.png)

A word without end: ${"x".repeat(300)}
`;

const order = createTool({
  id: "order-cloth",
  description: "Orders cloth. Its input has one of everything that a schema can ask for.",
  inputSchema: z.object({
    customer: z
      .object({
        name: z
          .string()
          .min(2)
          .refine((name) => name !== "Nobody", "Nobody orders nothing.")
          .describe("Who orders"),
        email: z.email().optional(),
        address: z.object({ street: z.string(), city: z.string() }).optional().describe("Where it goes"),
      })
      .describe("The customer"),
    lines: z
      .array(z.object({ cloth: z.enum(["denim", "twill", "canvas"]), metres: z.int().min(1).max(500) }))
      .min(1)
      .describe("What is ordered"),
    priority: z.enum(["low", "normal", "high"]).default("normal"),
    discount: z.number().min(0).max(1).optional(),
    due: z.iso.date().optional().describe("When it is needed"),
    gift: z.boolean().optional(),
    notes: z.string().nullable().optional(),
    tags: z.array(z.string()).optional(),
    delivery: z
      .discriminatedUnion("by", [
        z.object({ by: z.literal("post"), street: z.string().min(1) }),
        z.object({ by: z.literal("pickup"), hour: z.int().min(8).max(18) }),
      ])
      .optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
  execute: async ({ context }) => ({ ordered: context }),
});

const broken = createTool({
  id: "broken",
  description: "Always fails.",
  inputSchema: z.object({}),
  execute: async () => {
    throw new Error("The shuttle is stuck.");
  },
});

type PromptMessage = ScriptedCall["prompt"][number];

/** Whether a message reports the state of something, such as a page that changed. It can be after what the user said. */
function isState({ role, content }: PromptMessage): boolean {
  const [part] = role === "user" ? content : [];
  return part?.type === "text" && part.text.startsWith("<state ");
}

function reply(call: ScriptedCall): string | ScriptedReply {
  const prompt = call.prompt.filter((message) => !isState(message));
  const last = prompt.findLast(({ role }) => role === "user");
  const parts = typeof last?.content === "string" ? [] : (last?.content ?? []);
  const files = parts.filter((part) => part.type === "file");
  if (files.length > 0)
    return `I got ${files.map(({ filename, mediaType }) => `${filename} (${mediaType})`).join(", ")}.`;
  const text = parts.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  if (/essay/.test(text)) return { text: ESSAY };
  if (/fail/.test(text)) return { error: new Error("The model is not there today.") };
  if (/broken/.test(text) && prompt.at(-1)?.role !== "tool")
    return { toolCalls: [{ toolName: "broken", toolCallId: `b${prompt.length}`, input: {} }] };
  const [, tool, input] = /^tool (\w+) (\{.*\})$/.exec(text) ?? [];
  if (tool !== undefined && prompt.at(-1)?.role !== "tool")
    return { toolCalls: [{ toolName: tool, input: JSON.parse(input!) as object }] };
  if (/wait/.test(text)) return { text: Array<string>(1200).fill("Waiting. "), chunkDelayMs: 50 };
  if (/cached/.test(text))
    return { text: "From the cache.", usage: { inputTokens: 200, outputTokens: 3, cachedInputTokens: 150 } };
  return `You said: ${text}`;
}

export async function openWorkshop({
  withController = false,
  observationalMemory = false,
  workspace,
  ...options
}: Pick<ServeOptions, "authorize"> & {
  withController?: boolean;
  workspace?: Workspace;
  observationalMemory?: ObservationalMemoryOptions | false;
} = {}): Promise<Workshop> {
  const storage = new InMemoryStorage();
  const lastMessages = observationalMemory ? 4 : 20;
  const memory = new Memory({ storage, options: { lastMessages, observationalMemory }, onWarning: () => {} });
  const loom = new Agent({
    id: "loom",
    name: "Loom",
    instructions: "Weave.",
    model: scriptedModel(reply),
    memory,
    tools: { "order-cloth": order, broken },
    ...(workspace && { workspace }),
  });
  const weaver = new AgentController({
    id: "weaver",
    storage,
    agent: loom as unknown as Agent,
    ...(workspace && { workspace }),
    modes: [{ id: "build" }],
  });
  const mastra = new Mastra({
    agents: { loom },
    ...(withController && { agentControllers: { weaver } }),
    storage,
    logger: silentLogger,
  });
  const server = await serve({ mastra, port: 0, studio: studioFolder(), ...options });
  return {
    url: server.url,
    fill: async (threadId, count) => {
      const at = Date.now() - count * 1000;
      await memory.createThread({ threadId, resourceId: "local", title: `${count} messages` });
      await memory.saveMessages({
        messages: Array.from({ length: count }, (_, index) => ({
          id: `${threadId}-${index}`,
          threadId,
          resourceId: "local",
          role: index % 2 === 0 ? ("user" as const) : ("assistant" as const),
          createdAt: new Date(at + index * 1000),
          content: {
            format: 2 as const,
            parts: [{ type: "text" as const, text: `Message **${index + 1}**` }],
          },
        })),
      });
    },
    close: async () => {
      server.http.closeAllConnections();
      await server.close();
      await mastra.close();
    },
  };
}
