import { setTimeout as sleep } from "node:timers/promises";
import { type ScriptedCall, scriptedModel, type ScriptedModel } from "@selvedge/testing";

/** Long enough to see it work, and to kill the server meanwhile. */
const THINKS_MS = 2_000;
const FIRST_KEPT = 5;
const LAST_KEPT = 10;
const MOST = 80;

/**
 * The observer and the reflector of the demo on a machine without a model. It writes down what the user said, nearly
 * word for word, and when it rewrites its notes it keeps the first ones and the newest.
 */
export function demoObserver(thinksMs: number = THINKS_MS): ScriptedModel {
  const script = async ({ prompt, options }: ScriptedCall) => {
    await sleep(thinksMs, undefined, { signal: options.abortSignal });
    const quoted = textOf(prompt.at(-1));
    const isRewrite = quoted.trimEnd().endsWith("Rewrite the log.");
    const notes = isRewrite ? rewrite(quoted) : observe(quoted);
    return `<observations>\n${notes.join("\n")}\n</observations>`;
  };
  return scriptedModel(script, { provider: "selvedge", modelId: "demo-observer" });
}

/** What a note repeats of a message: its first line, if that is short. */
export function gist(text: string): string {
  const [line = ""] = text.trim().split("\n", 1);
  return line.length > MOST ? `${line.slice(0, MOST)}…` : line;
}

/** What the notes in a prompt say that the user said, oldest first. */
export function notedWords(systemText: string): string[] {
  return [...systemText.matchAll(/The user said: "(.*)"$/gm)].map(([, words = ""]) => words);
}

function observe(quoted: string): string[] {
  const days = new Set<string>();
  return [...quoted.matchAll(/^\[([\d-]{10})[^\]]*?(\d\d:\d\d)[^\]]*\] (user|assistant): (.*)$/gm)].flatMap(
    ([, day = "", time, who, text = ""]) => {
      const head = days.has(day) ? [] : [`Date: ${day}`];
      days.add(day);
      const line =
        who === "user"
          ? `- 🔴 ${time} The user said: "${gist(text)}"`
          : `- 🟢 ${time} The assistant answered: ${gist(text).slice(0, 40)}`;
      return [...head, line];
    },
  );
}

function rewrite(quoted: string): string[] {
  const lines = quoted.split("\n").filter((line) => /^(Date: |- 🔴)/.test(line));
  const said = lines.filter((line) => line.startsWith("- "));
  const dropped = new Set(said.slice(FIRST_KEPT, -LAST_KEPT));
  const kept = lines.filter((line) => !dropped.has(line));
  return kept.filter((line, index) => line.startsWith("- ") || kept[index + 1]?.startsWith("- "));
}

function textOf(message: ScriptedCall["prompt"][number] | undefined): string {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}
