import { type Script, type ScriptedCall, type ScriptedModel, scriptedModel } from "@selvedge/testing";
import { inDays, seeded } from "./conversation.ts";

export const MANNERS = ["careful", "terse", "faulty"] as const;
/** How the scripted observer and reflector work. */
export type Manner = (typeof MANNERS)[number];

type Role = (call: ScriptedCall) => string;

export interface Roles {
  observer: ScriptedModel;
  reflector: ScriptedModel;
}

/** Models that read what they are given, as a model would, and know the phrases of the conversation. */
export function scriptedRoles(manner: Manner): Roles {
  const write = manner === "terse" ? leaveOut : (lines: string[]) => lines;
  const observer: Role = ({ prompt }) => answer(write(observe(textOf(prompt.at(-1)))));
  const reflector: Role = ({ prompt }) => answer(write(reflect(textOf(prompt.at(-1)))));
  const faults = manner === "faulty" ? withFaults : (script: Role): Script => script;
  return {
    observer: scriptedModel(faults(observer, 1), { modelId: `${manner}-observer` }),
    reflector: scriptedModel(faults(reflector, 2), { modelId: `${manner}-reflector` }),
  };
}

export function textOf(message: ScriptedCall["prompt"][number] | undefined): string {
  const content = message?.content ?? "";
  if (typeof content === "string") return content;
  return content
    .map((part) => {
      if (part.type === "text" || part.type === "reasoning") return part.text;
      if (part.type === "tool-call") return JSON.stringify(part.input);
      if (part.type === "tool-result") return JSON.stringify("value" in part.output ? part.output.value : "");
      return "";
    })
    .join("\n");
}

function answer(lines: readonly string[]): string {
  return `<observations>\n${lines.join("\n")}\n</observations>\n<current-task>\nTalking.\n</current-task>`;
}

const CODE = "[A-Z]{2}-\\d{4}";
const CORRECTED = new RegExp(`Correction: (the .+? is ${CODE}, no longer ${CODE})\\.`);
const STATED = new RegExp(`(the .+? is ${CODE})\\.`);
const WITHDRAWN = /Please forget (the .+?): it is no longer valid\./;
const DUE = /(The .+?) is due in (\d+) days\./;
const TOLD = new RegExp(`"subject":"(.+?)","code":"(${CODE})"`);

function observe(prompt: string): string[] {
  const lines: string[] = [];
  let date = "";
  let time = "";
  for (const line of prompt.slice(prompt.indexOf("<conversation")).split("\n")) {
    const [, day, minute, speaker] = /^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d)\] (user|assistant):/.exec(line) ?? [];
    if (day !== undefined && day !== date) lines.push(`Date: ${day}`);
    date = day ?? date;
    time = minute ?? time;
    const note = (mark: string, fact: string): void => void lines.push(`- ${mark} ${time} ${fact}`);
    const about = /talk about (\w+)/.exec(line)?.[1];
    if (speaker === "user" && about) note("🟢", `They talked about ${about}.`);
    const [, due, days] = DUE.exec(line) ?? [];
    const [, thing, code] = TOLD.exec(line) ?? [];
    const [, withdrawn] = WITHDRAWN.exec(line) ?? [];
    const [, stated] = CORRECTED.exec(line) ?? STATED.exec(line) ?? [];
    if (due)
      note("🔴", `${due} is due in ${days} days (${inDays(new Date(`${date}T${time}Z`), Number(days))}).`);
    else if (withdrawn) note("🔴", `${withdrawn} is no longer valid.`);
    else if (stated) note("🔴", `${stated}.`);
    else if (thing) note("🟡", `A tool was told that the ${thing} is ${code}.`);
  }
  return lines;
}

const THING = / (?:told that )?(?:the|The) (\S+(?: \S+)? of \w+) is /;

/** Keeps the newest line about each thing, and drops small talk. */
function reflect(prompt: string): string[] {
  const facts = new Map<string, { date: string; line: string }>();
  let date = "";
  for (const line of prompt.split("\n")) {
    const day = /^Date: (\S+)/.exec(line)?.[1];
    if (day) date = day;
    const thing = THING.exec(line)?.[1];
    if (!line.startsWith("- ") || !thing) continue;
    // A newer line about the same thing comes later.
    facts.delete(thing);
    facts.set(thing, { date, line });
  }
  let shown = "";
  return [...facts.values()].flatMap((fact) => {
    const heading = fact.date === shown ? [] : [`Date: ${fact.date}`];
    shown = fact.date;
    return [...heading, fact.line];
  });
}

/** Drops a fifth of what is not marked as important. */
function leaveOut(lines: string[]): string[] {
  const random = seeded(lines.length);
  return lines.filter((line) => line.startsWith("Date:") || line.includes("🔴") || random() >= 0.2);
}

/** Now and then it says nothing, repeats itself without end, stops in the middle, or is down. */
function withFaults(script: Role, seed: number): Script {
  const random = seeded(seed);
  return (call) => {
    const text = script(call);
    const dice = random();
    if (dice < 0.1) return "";
    if (dice < 0.2) return text.replaceAll(/^- .*$/gm, (line) => `${line}\n`.repeat(30));
    if (dice < 0.3) return text.slice(0, Math.floor(text.length * random()));
    if (dice < 0.35) return { error: Object.assign(new Error("overloaded"), { statusCode: 503 }) };
    return text;
  };
}
