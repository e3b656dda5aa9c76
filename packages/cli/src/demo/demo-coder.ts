import { scriptedModel, type ScriptedCall, type ScriptedModel, type ScriptedReply } from "@selvedge/testing";
import type { DemoStep } from "./demo-trip.ts";

type Prompt = ScriptedCall["prompt"];
type Result = {
  tool: string;
  input: Record<string, unknown>;
  text: string;
  isDenied: boolean;
  isError: boolean;
};

/**
 * The model of `selvedge code` on a machine without one. It follows a script: look, read, edit, run, report. The calls are
 * real, and what comes next is found in the conversation, so any process can continue it.
 */
export function demoCoder({ wordDelayMs = 20 }: { wordDelayMs?: number } = {}): ScriptedModel {
  return scriptedModel(
    ({ prompt, tools = [] }) => {
      const step = nextStep(prompt, new Set(tools.map(({ name }) => name)));
      const toolCalls = step.calls?.map((call) => ({ ...call, toolCallId: crypto.randomUUID() }));
      const text = step.text.match(/\s*\S+/g) ?? [];
      return { chunkDelayMs: wordDelayMs, text, ...(toolCalls && { toolCalls }) } satisfies ScriptedReply;
    },
    { provider: "selvedge", modelId: "demo" },
  );
}

const WHAT_I_AM =
  "I am a scripted model: no language model is configured, so I follow fixed steps. Set OPENAI_API_KEY or another provider's key, or pass --model, to work with a real one.";
const LINE = "This line was added by the scripted model of `selvedge code`.";

function nextStep(prompt: Prompt, tools: ReadonlySet<string>): DemoStep {
  const at = prompt.findLastIndex(
    (message) => message.role === "user" && !/^<(state|tasks)\b/.test(toText(message)),
  );
  const wish = at < 0 ? "" : toText(prompt[at]!);
  if (says(prompt, /^Write a title\b/)) return { text: wish.slice(0, 48) };
  const results = resultsIn(prompt.slice(at + 1));
  const command = /^run\s+(.+)/is.exec(wish)?.[1];
  const find = (tool: string): Result | undefined => results.findLast((result) => result.tool === tool);
  const ran = find("execute_command");
  if (ran) return { text: `${aboutEdit(find("edit_file") ?? find("write_file"))}${aboutCommand(ran)}` };
  if (command !== undefined)
    return tools.has("execute_command")
      ? call(`I will run that if you let me.`, "execute_command", { command })
      : { text: "I cannot run commands here. Trust this folder, and use build mode." };
  const listed = find("list_files");
  if (!listed)
    return call(`${WHAT_I_AM}\n\nI will look around first.`, "list_files", { path: ".", maxDepth: 1 });
  const path = pickFile(listed.text);
  const read = find("read_file");
  if (path !== undefined && !read)
    return call(`I will read ${path}.`, "read_file", { path, showLineNumbers: false });
  const edit = find("edit_file") ?? find("write_file");
  if (edit) {
    const isTested = /(?:^|\s)package\.json\s*$/m.test(listed.text);
    const check = isTested ? "npm test" : `cat ${edit.input["path"] as string}`;
    return tools.has("execute_command")
      ? call(
          edit.isDenied ? "Then I leave it. I will run one command." : "Now I check it.",
          "execute_command",
          { command: check },
        )
      : { text: aboutEdit(edit) };
  }
  if (says(prompt, /You are in plan mode/) && !find("submit_plan"))
    return call("This is what I would do.", "submit_plan", {
      title: "A first edit",
      plan: `1. Add a line to ${path ?? "NOTES.md"}. You see the diff first.\n2. Run a command to check it.`,
    });
  if (!tools.has("edit_file"))
    return { text: "I can only read here. Trust this folder, and I can show you an edit and a command." };
  const line = read?.text
    .split("\n")
    .slice(1)
    .find((one, _, all) => one.trim() !== "" && all.filter((other) => other.includes(one)).length === 1);
  return path === undefined || line === undefined
    ? call("I will write a file, if you let me.", "write_file", {
        path: "NOTES.md",
        content: `# Notes\n\n${LINE}\n`,
      })
    : call("I propose this edit.", "edit_file", { path, old_string: line, new_string: `${line}\n\n${LINE}` });
}

/** Whether a system message says something. */
function says(prompt: Prompt, words: RegExp): boolean {
  return prompt.some(({ role, content }) => role === "system" && words.test(String(content)));
}

function aboutEdit(edit: Result | undefined): string {
  if (!edit) return "";
  if (edit.isDenied) return "You declined the edit, so no file changed. ";
  return edit.isError
    ? `The edit failed: ${edit.text} `
    : `I edited \`${edit.input["path"] as string}\`; \`/changes\` shows it, and \`/undo\` reverts it. `;
}

function aboutCommand({ input, text, isDenied, isError }: Result): string {
  const command = `\`${input["command"] as string}\``;
  if (isDenied) return `You declined ${command}, so it did not run.`;
  if (/outcome is unknown/.test(text)) {
    const output = /Output before that:\n(?!\(none\)$)([^]*)/.exec(text)?.[1];
    const shown = output ? ` Its output before that:\n\n${fenced(output)}` : "";
    return `The outcome of ${command} is **unknown**: it was interrupted, and I did not run it again.${shown}`;
  }
  if (isError) return `${command} failed: ${text}`;
  const code = /Exit code: (\d+)[^\n]*$/.exec(text)?.[1];
  return code === undefined ? `${command} succeeded.` : `${command} ended with exit code ${code}.`;
}

function fenced(text: string): string {
  return `\`\`\`\n${text.replaceAll("```", "'''").trim()}\n\`\`\``;
}

function call(text: string, toolName: string, input: unknown): DemoStep {
  return { text, calls: [{ toolName, input }] };
}

function resultsIn(messages: Prompt): Result[] {
  const inputs = new Map<string, Record<string, unknown>>();
  const results: Result[] = [];
  for (const message of messages) {
    if (message.role === "assistant")
      for (const part of message.content)
        if (part.type === "tool-call")
          inputs.set(part.toolCallId, Object(part.input) as Record<string, unknown>);
    if (message.role !== "tool") continue;
    for (const part of message.content) {
      if (part.type !== "tool-result") continue;
      const { output } = part;
      const value = "value" in output ? output.value : "";
      results.push({
        tool: part.toolName,
        input: inputs.get(part.toolCallId) ?? {},
        text: typeof value === "string" ? value : JSON.stringify(value),
        isDenied: output.type === "execution-denied",
        isError: output.type.startsWith("error"),
      });
    }
  }
  return results;
}

function toText(message: Prompt[number]): string {
  if (message.role === "system") return message.content;
  const text = message.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join(" ")
    .trim();
  return /^<user\b[^>]*>([\s\S]*)<\/user>$/.exec(text)?.[1] ?? text;
}

/** A text file to show an edit on, the README if there is one. */
function pickFile(listing: string): string | undefined {
  const files = listing.match(/\b[\w.-]+\.(?:md|txt)$/gm) ?? [];
  return files.find((name) => /^readme/i.test(name)) ?? files.find((name) => name !== "AGENTS.md");
}
