import { scriptedModel, type ScriptedCall, type ScriptedModel, type ScriptedReply } from "@selvedge/testing";

type Prompt = ScriptedCall["prompt"];

export interface DemoModelOptions {
  /** Between two words. */
  wordDelayMs?: number;
}

/**
 * The model of `npm start` on a machine without one. It follows a script and says so. The tool calls it makes and the
 * history it reads are real, so all the rest of the system can be tried with it.
 */
export function demoModel({ wordDelayMs = 20 }: DemoModelOptions = {}): ScriptedModel {
  return scriptedModel(({ prompt }) => ({ chunkDelayMs: wordDelayMs, ...toReply(prompt) }), {
    provider: "selvedge",
    modelId: "demo",
  });
}

const WHAT_I_AM =
  "I am a scripted demo model: no language model is configured, so I follow a few fixed rules. " +
  "Set OPENAI_API_KEY or another provider's key, or pass --model, to talk to a real one.";

const WHAT_TO_TRY =
  'Try "what time is it?" or "what is 12 * (3 + 4)?" to see a real tool call, or "what did I say?" to see that ' +
  "this conversation is remembered, also after a restart.";

function toReply(prompt: Prompt): ScriptedReply {
  const last = prompt.at(-1);
  if (last?.role === "tool") return say(aboutResult(last));
  const said = userTexts(prompt);
  const text = said.at(-1) ?? "";
  if (/what (did|have) i (say|said|tell|told|ask|write|written)|remember|earlier/i.test(text)) {
    return say(aboutHistory(said.slice(0, -1)));
  }
  if (/\b(time|date|day|clock|today|hour)\b/i.test(text))
    return call("I will look at the clock.", "current-time", {});
  const expression = findExpression(text);
  if (expression !== undefined) return call("I will calculate that.", "calculator", { expression });
  return say(`${WHAT_I_AM}\n\nYou said: "${shorten(text)}". ${WHAT_TO_TRY}`);
}

function aboutResult(message: Extract<Prompt[number], { role: "tool" }>): string {
  const part = message.content.find((content) => content.type === "tool-result");
  if (!part) return "The tool gave no result.";
  const { output } = part;
  if (output.type !== "json") {
    const text = "value" in output ? output.value : output.type;
    return `The tool ${part.toolName} failed: ${typeof text === "string" ? text : JSON.stringify(text)}`;
  }
  const value = output.value as Record<string, unknown>;
  if (part.toolName === "current-time") {
    return `It is ${String(value["local"])} in ${String(value["timeZone"])}. (A real tool told me; the sentence is scripted.)`;
  }
  if ("value" in value) {
    return `${String(value["expression"])} = ${String(value["value"])}. (A real tool calculated it; the sentence is scripted.)`;
  }
  return `The tool ${part.toolName} answered ${JSON.stringify(value)}.`;
}

function aboutHistory(earlier: readonly string[]): string {
  if (earlier.length === 0) return "This is the first thing you say in this conversation.";
  const shown = earlier.slice(-5).map((text) => `- ${shorten(text)}`);
  const which = earlier.length > shown.length ? `the last ${shown.length} are` : "they are";
  const count = earlier.length === 1 ? "one message" : `${earlier.length} messages`;
  return `Before this one I see ${count} of yours; ${which}:\n${shown.join("\n")}`;
}

function userTexts(prompt: Prompt): string[] {
  return prompt
    .filter((message) => message.role === "user")
    .map(({ content }) =>
      content
        .map((part) => (part.type === "text" ? part.text : ""))
        .join(" ")
        .trim(),
    );
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
  return { text: toWords(text), toolCalls: [{ toolName, input, toolCallId: crypto.randomUUID() }] };
}

function toWords(text: string): string[] {
  return text.match(/\s*\S+/g) ?? [text];
}

function shorten(text: string): string {
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
