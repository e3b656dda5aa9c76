import { scriptedModel, type ScriptedCall, type ScriptedModel, type ScriptedReply } from "@selvedge/testing";
import { countOf } from "../count-of.ts";
import { isCopywriter, labelFor } from "./demo-label.ts";
import { gist, notedWords } from "./demo-observer.ts";
import { type DemoStep, nextOfScout, nextOfTrip } from "./demo-trip.ts";

type Prompt = ScriptedCall["prompt"];
type Tools = ScriptedCall["tools"];

export interface DemoModelOptions {
  /** Between two words. */
  wordDelayMs?: number;
}

/**
 * The model of `npm start` on a machine without one. It follows a script and says so. The tool calls it makes and the
 * history it reads are real, so all the rest of the system can be tried with it.
 */
export function demoModel({ wordDelayMs = 20 }: DemoModelOptions = {}): ScriptedModel {
  return scriptedModel(({ prompt, tools }) => ({ chunkDelayMs: wordDelayMs, ...toReply(prompt, tools) }), {
    provider: "selvedge",
    modelId: "demo",
  });
}

const LABEL_DELAY_MS = 150;

const WHAT_I_AM =
  "I am a scripted demo model: no language model is configured, so I follow a few fixed rules. " +
  "Set OPENAI_API_KEY or another provider's key, or pass --model, to talk to a real one.";

const WHAT_TO_TRY = `Try one of these:

- **what is 12 * (3 + 4)?** makes a real tool call
- **note that the cat is called Loom** asks for your approval first
- **write a poem** changes a file, which you can undo in the studio
- **count to 8** takes a while: steer it, queue something, or stop it
- **ask me something** asks you a question, and a different kind each time
- **plan a trip** asks where to, makes a plan, and carries it out when you approve it
- **what did I say first?** shows that the conversation is remembered, also after a restart`;

/** Whether a memory wants a name for a thread. */
function isForTitle(prompt: Prompt): boolean {
  return prompt.some(({ role, content }) => role === "system" && /^Write a title\b/.test(String(content)));
}

/** Whether it answers as the scout of the demo controller. */
function isScout(prompt: Prompt): boolean {
  return prompt.some(({ role, content }) => role === "system" && /^You are a scout\b/.test(String(content)));
}

function toReply(prompt: Prompt, tools: Tools = []): ScriptedReply {
  // The first words of the first message, at once.
  if (isForTitle(prompt))
    return { text: shorten(userTexts(prompt).at(-1) ?? "A thread", 48), chunkDelayMs: 0 };
  const reply = findReply(prompt);
  const missing = reply.toolCalls?.find((wanted) => !tools.some(({ name }) => name === wanted.toolName));
  return missing ? say(`I would call ${missing.toolName} now, but I do not have that tool.`) : reply;
}

function findReply(whole: Prompt): ScriptedReply {
  // What a lane says is there to be known. It is an answer's subject only when nothing else is.
  const told = whole.filter(
    (message) => message.role !== "user" || !/^<(state|tasks)\b/.test(toText(message)),
  );
  const prompt = told.at(-1)?.role === "assistant" ? whole : told;
  // Slower than usual, so that the words can be seen to arrive.
  if (isCopywriter(prompt)) return { ...say(labelFor(userTexts(prompt))), chunkDelayMs: LABEL_DELAY_MS };
  if (isScout(prompt)) return act(nextOfScout(prompt, userTexts(prompt).join(" ")));
  const count = findCount(prompt);
  const trip = nextOfTrip(prompt, toText);
  if (trip && !count && !isOtherWish(prompt)) return act(trip);
  if (count) return answerWithinCount(count) ?? goOnCounting(count);
  const last = prompt.at(-1);
  if (last?.role === "tool") return say(aboutResult(last));
  const said = userTexts(prompt);
  const text = said.at(-1) ?? "";
  return aboutSignal(text) ?? aboutWords(text, allWords(prompt, said.slice(0, -1)));
}

/** What the user said before, oldest first: in notes on messages that left the prompt, then in the prompt. */
function allWords(prompt: Prompt, inPrompt: readonly string[]): string[] {
  const noted = prompt.flatMap((message) => (message.role === "system" ? notedWords(message.content) : []));
  const said = inPrompt.filter((text) => !isSignal(text));
  // Notes also cover the newest messages that stay in the prompt.
  const known = said.map(gist);
  let both = Math.min(noted.length, known.length);
  while (both > 0 && noted.slice(-both).some((words, index) => words !== known[index])) both--;
  return [...noted.slice(0, noted.length - both), ...said];
}

/** Whether the last message asks for something other than the current task. */
function isOtherWish(prompt: Prompt): boolean {
  const last = prompt.at(-1);
  return last?.role === "user" && aboutWords(unwrap(toText(last)), []).toolCalls !== undefined;
}

function aboutWords(text: string, earlier: readonly string[]): ScriptedReply {
  const note = /\bnote(?:\s+down)?(?:\s+that)?[:\s]+(.+)/is.exec(text)?.[1]?.trim();
  if (note !== undefined) return call("I'll write that down if you let me.", "write-note", { text: note });
  if (/\bpoem\b/i.test(text))
    return call("I will write one.", "mastra_workspace_write_file", nextPoem(earlier));
  if (/\bask me\b/i.test(text)) return call("I have a question.", "ask_user", nextQuestion(earlier));
  if (/what (did|have) i (say|said|tell|told|ask|write|written)|remember|earlier/i.test(text)) {
    return say(/\bfirst\b/i.test(text) ? aboutFirst(earlier) : aboutHistory(earlier));
  }
  if (/\b(inbox|notifications?)\b/i.test(text)) {
    return call("I will check the inbox.", "notification-inbox", { action: "list" });
  }
  if (/\b(time|date|day|clock|today|hour)\b/i.test(text))
    return call("I will check the clock.", "current-time", {});
  if (/\b(roll|dice|die)\b/i.test(text)) return call("I will roll.", "roll-dice", { sides: 6 });
  const expression = findExpression(text);
  if (expression !== undefined) return call("I will calculate that.", "calculator", { expression });
  return say(`${WHAT_I_AM}\n\nYou said: "${shorten(text, 60)}". ${WHAT_TO_TRY}`);
}

/** Asked again, it changes a line. */
function nextPoem(earlier: readonly string[]): object {
  const { label } = COLOURS[earlier.filter((text) => /\bpoem\b/i.test(text)).length % COLOURS.length]!;
  return {
    path: "poem.md",
    content: `Warp and weft,\n${label} in the gloom.\nRight and left\nGoes the loom.\n`,
  };
}

const COLOURS = ["Indigo", "Madder red", "Weld yellow"].map((label) => ({ label }));

/** Asked again, it asks in another way: in your own words, one of several, any of several. */
function nextQuestion(earlier: readonly string[]): object {
  const questions = [
    { question: "What are you making?" },
    { question: "Which colour should it have?", options: COLOURS },
    { question: "Which colours do you like?", options: COLOURS, selectionMode: "multi_select" },
  ];
  return questions[earlier.filter((text) => /\bask me\b/i.test(text)).length % questions.length]!;
}

function isSignal(text: string): boolean {
  return /^<[\w.-]+[\s>]/.test(text.trim());
}

/** What entered the thread from a system, as the model reads it. */
function aboutSignal(text: string): ScriptedReply | undefined {
  const match = /^<([\w.-]+)([^>]*)>([\s\S]*)<\/\1>$/.exec(text.trim());
  if (!match || match[1] === "user") return undefined;
  const [, tag, attributes = "", contents = ""] = match;
  if (tag === "notification-summary") {
    return call(`There is news waiting (${contents}). I will read it.`, "notification-inbox", {
      action: "read",
    });
  }
  const source = /\bsource="([^"]*)"/.exec(attributes)?.[1];
  if (tag === "notification") return say(`News${source ? ` from **${source}**` : ""}: ${contents}`);
  return say(`A system sent \`<${tag}>\`: ${contents}`);
}

interface Count {
  to: number;
  reached: number;
  /** What was said since the last number. */
  said: string | undefined;
}

/** A count that was asked for and has not come to its end. Each number is a step, so what a person says enters between two. */
function findCount(prompt: Prompt): Count | undefined {
  const at = prompt.findLastIndex(
    (message) => message.role === "user" && /\bcount (slowly )?to \d+/i.test(toText(message)),
  );
  if (at < 0) return undefined;
  const since = prompt.slice(at + 1);
  // Any other answer ended the count, as did an abort during a wait.
  const closed = since.some(
    (message) =>
      (message.role === "assistant" &&
        !message.content.some((part) => part.type === "tool-call" && part.toolName === "wait")) ||
      (message.role === "tool" &&
        message.content.some((part) => part.type === "tool-result" && part.output.type !== "json")),
  );
  const to = Math.min(60, Number(/count (?:slowly )?to (\d+)/i.exec(toText(prompt[at]!))![1]));
  const reached = since.filter((message) => message.role === "tool").length;
  if (closed || to < 1) return undefined;
  const last = prompt.at(-1);
  const said = last?.role === "user" && since.length > 0 ? unwrap(toText(last)) : undefined;
  return { to, reached, said };
}

/** A question for a tool ends the count: it may come long after, on a thread whose run was stopped. */
function answerWithinCount({ said }: Count): ScriptedReply | undefined {
  const reply = said === undefined || isSignal(said) ? undefined : aboutWords(said, []);
  return reply?.toolCalls ? reply : undefined;
}

function goOnCounting({ to, reached, said }: Count): ScriptedReply {
  if (said !== undefined && /\b(stop|enough|halt)\b/i.test(said))
    return say(`I stopped at ${reached}, as you asked.`);
  const heard =
    said === undefined
      ? ""
      : isSignal(said)
        ? "News arrived while I was counting. I'll continue. "
        : `You said "${shorten(said, 60)}" while I was counting. I'll continue. `;
  if (reached >= to) return say(`${heard}${to}, and done. Every number was a step of one run.`);
  return call(`${heard}${reached === 0 ? "I count" : reached} …`, "wait", { seconds: 1 });
}

function aboutResult(message: Extract<Prompt[number], { role: "tool" }>): string {
  const part = message.content.find((content) => content.type === "tool-result");
  if (!part) return "The tool returned no result.";
  const { output } = part;
  if (output.type === "execution-denied") return "You declined, so I wrote nothing.";
  if (output.type === "text") return `${output.value} (A real tool did it; this sentence is scripted.)`;
  if (output.type !== "json") {
    return `The tool ${part.toolName} failed: ${typeof output.value === "string" ? output.value : JSON.stringify(output.value)}`;
  }
  const value = output.value as Record<string, unknown>;
  if (part.toolName === "current-time") {
    return `It is ${String(value["local"])} in ${String(value["timeZone"])}. (A real tool returned this; the sentence is scripted.)`;
  }
  if (part.toolName === "write-note") {
    return `Written: *${String(value["written"])}*. The file has ${countOf(Number(value["notes"]), "note")} now.`;
  }
  if (part.toolName === "notification-inbox" && Array.isArray(value["notifications"])) {
    return aboutInbox(value["notifications"] as Record<string, unknown>[]);
  }
  if (part.toolName === "ask_user")
    return `${String(value["content"]).replace("The user", "You")}. Thank you.`;
  if ("value" in value) {
    return `${String(value["expression"])} = ${String(value["value"])}. (A real tool calculated it; the sentence is scripted.)`;
  }
  return `The tool ${part.toolName} returned ${JSON.stringify(value)}.`;
}

function aboutInbox(records: readonly Record<string, unknown>[]): string {
  if (records.length === 0) return "The inbox is empty.";
  const rows = records.map(
    (record) =>
      `| ${["source", "priority", "status", "summary"].map((key) => String(record[key])).join(" | ")} |`,
  );
  return `The inbox has:\n\n| source | priority | status | summary |\n| --- | --- | --- | --- |\n${rows.join("\n")}`;
}

function aboutFirst([first]: readonly string[]): string {
  if (first === undefined) return "This is your first message in this conversation.";
  return `The first thing you said was: "${shorten(first, 80)}"`;
}

function aboutHistory(earlier: readonly string[]): string {
  if (earlier.length === 0) return "This is your first message in this conversation.";
  const shown = earlier.slice(-5).map((text) => `- ${shorten(text, 60)}`);
  const which = earlier.length > shown.length ? `the last ${shown.length} are` : "they are";
  const count = earlier.length === 1 ? "one message" : `${earlier.length} messages`;
  return `Before this one, I see ${count} from you; ${which}:\n${shown.join("\n")}`;
}

function userTexts(prompt: Prompt): string[] {
  return prompt.filter((message) => message.role === "user").map((message) => unwrap(toText(message)));
}

function toText(message: Prompt[number]): string {
  if (message.role === "system") return message.content;
  return message.content
    .map((part) => (part.type === "text" ? part.text : ""))
    .join(" ")
    .trim();
}

/** A message with attributes stands in a tag with the sender's name and the like. */
function unwrap(text: string): string {
  return /^<user\b[^>]*>([\s\S]*)<\/user>$/.exec(text)?.[1] ?? text;
}

/** Arithmetic in a sentence: written out (`2 * 3`), or as "add 2 and 3" and its kin. */
function findExpression(text: string): string | undefined {
  const spoken =
    /\b(add|plus|sum of|multiply|product of)\s+(-?\d+(?:\.\d+)?)\s+(?:and|with|by|to)\s+(-?\d+(?:\.\d+)?)/i.exec(
      text,
    );
  if (spoken) return `${spoken[2]} ${/^(add|plus|sum)/i.test(spoken[1]!) ? "+" : "*"} ${spoken[3]}`;
  const words = text
    .replace(/\bplus\b/gi, "+")
    .replace(/\bminus\b/gi, "-")
    .replace(/\btimes\b/gi, "*");
  const written = /[-(\d][-+*/^().\d\s]*[)\d]/.exec(words)?.[0].trim();
  return written !== undefined && /\d\s*[-+*/^]\s*[-(\d]|\)\s*[-+*/^]/.test(written) ? written : undefined;
}

function say(text: string): ScriptedReply {
  return { text: toWords(text) };
}

function call(text: string, toolName: string, input: unknown): ScriptedReply {
  return act({ text, calls: [{ toolName, input }] });
}

function act({ text, calls = [] }: DemoStep): ScriptedReply {
  const toolCalls = calls.map((one) => ({ ...one, toolCallId: crypto.randomUUID() }));
  return { text: toWords(text), ...(toolCalls.length > 0 && { toolCalls }) };
}

function toWords(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [text];
}

function shorten(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length)}…` : text;
}
