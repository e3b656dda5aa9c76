import { existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { Mastra } from "@selvedge/core";
import { Agent } from "@selvedge/core/agent";
import { AgentController } from "@selvedge/core/agent-controller";
import { createTool } from "@selvedge/core/tools";
import { LibSQLStore } from "@selvedge/libsql";
import { Memory } from "@selvedge/memory";
import { type ScriptedCall, type ScriptedReply, scriptedModel } from "@selvedge/testing";

// The project of the terminal tests: an agent that does what a message names. Its store is in the working folder.

type Prompt = ScriptedCall["prompt"];

const storage = new LibSQLStore({ url: "file:threads.db" });
const ESCAPES = "red \u001b[31mtext\u001b[0m, \u001b]0;a title\u0007 and \u001b[2Jnothing \u009b2Jcleared";
const COUNT = 120;

const editFile = createTool({
  id: "edit_file",
  description: "",
  inputSchema: { type: "object" },
  execute: async ({ context }) => ({ edited: (context as { path: string }).path }),
});

/** Works until the test lets it end: by creating a file with its name. */
const work = createTool({
  id: "work",
  description: "",
  inputSchema: { type: "object" },
  idempotent: true,
  execute: async ({ context }, { abortSignal }) => {
    const { until } = context as { until: string };
    while (!existsSync(until)) await sleep(20, undefined, { signal: abortSignal });
    return { ended: until };
  },
});

const shout = createTool({
  id: "shout",
  description: "",
  inputSchema: { type: "object" },
  execute: async () => ({ said: ESCAPES }),
});

function call(toolName: string, input: unknown, text = ""): ScriptedReply {
  return { text, toolCalls: [{ toolName, input, toolCallId: crypto.randomUUID() }] };
}

const OPTIONS = [{ label: "red", description: "like a rose" }, { label: "green" }, { label: "blue" }];
const EDIT = { path: "a.txt", old_string: "one\ntwo\nthree", new_string: "one\n2\nthree" };
const MARKDOWN = `# A heading

Some **bold** words, \`code\`, 日本語の文章 and a [link](https://example.com/a).

\`\`\`ts
// a comment
const answer: number = 42;
\`\`\`

| left | right |
| --- | --- |
| 1 | 2 |
`;

/** What the scripted model answers to the last thing that was said. */
function reply(prompt: Prompt): ScriptedReply | string {
  const last = prompt.at(-1)!;
  if (last.role === "tool") {
    const part = last.content.find((content) => content.type === "tool-result");
    const output = part?.output as { type: string; value?: unknown };
    return `Result: ${output.type === "execution-denied" ? "denied" : JSON.stringify(output.value)}`;
  }
  const text = textOf(last);
  const word = text.split(" ")[0];
  const rest = text.slice(text.indexOf(" ") + 1);
  switch (word) {
    case "words":
      return { text: Array.from({ length: Number(rest) }, (_, index) => `word${index} `), chunkDelayMs: 1 };
    case "lines":
      return Array.from({ length: Number(rest) }, (_, index) => `Paragraph ${index}.`).join("\n\n");
    case "code":
      return {
        text: [
          "```ts\n",
          ...Array.from({ length: Number(rest) }, (_, index) => `const line${index} = ${index};\n`),
          "```\n\nThe end.",
        ],
        chunkDelayMs: 2,
      };
    case "markdown":
      return MARKDOWN;
    case "edit":
      return call("edit_file", EDIT, "I will edit it.");
    case "work":
      return call("work", { until: rest }, "I am at work.");
    case "shout":
      return call("shout", {}, ESCAPES);
    case "ask":
      return call("ask_user", { question: "What is your name?" });
    case "pick":
      return call("ask_user", { question: "Which colour?", options: OPTIONS });
    case "mark":
      return call("ask_user", {
        question: "Which colours?",
        options: OPTIONS,
        selectionMode: "multi_select",
      });
    case "plan":
      return call("submit_plan", { title: "The plan", plan: "1. Look\n2. Leap" });
    case "tasks":
      return call("task_write", {
        tasks: [
          { content: "Look", status: "completed", activeForm: "Looking" },
          { content: "Leap", status: "in_progress", activeForm: "Leaping" },
        ],
      });
    case "fail":
      return { error: new Error("out of order") };
    case "count":
      return { text: Array.from({ length: COUNT }, (_, index) => `${index} `), chunkDelayMs: 20 };
    case "length":
      return `It has ${text.length} characters.`;
    default:
      return `You said: ${text}`;
  }
}

function textOf(message: Prompt[number]): string {
  if (typeof message.content === "string") return message.content;
  const text = message.content.map((part) => (part.type === "text" ? part.text : "")).join("");
  return /^<user\b[^>]*>([^]*)<\/user>$/.exec(text)?.[1] ?? text;
}

const agent = new Agent({
  id: "writer",
  name: "Writer",
  instructions: "",
  model: scriptedModel(({ prompt }) => reply(prompt)),
  memory: new Memory({ storage }),
  tools: { edit_file: editFile, work, shout },
});

const CATEGORIES = { edit_file: "edit", work: "read", shout: "read" } as const;
const controller = new AgentController({
  id: "desk",
  storage,
  agent,
  modes: [
    { id: "build", description: "Does it.", metadata: { default: true } },
    { id: "plan", description: "Thinks about it.", transitionsTo: "build" },
  ],
  toolCategoryResolver: (name) => CATEGORIES[name as keyof typeof CATEGORIES] ?? null,
  permissionRules: { categories: { read: "allow" } },
});

/** With LONE the agent has no controller. */
export const mastra: Mastra = new Mastra({
  agents: { writer: agent },
  storage,
  logger: false,
  ...(process.env["LONE"] === undefined && { agentControllers: { desk: controller } }),
});
