import type { ScriptedCall } from "@selvedge/testing";

type Prompt = ScriptedCall["prompt"];

const CLOTHS: Readonly<Record<string, readonly string[]>> = {
  indigo: [
    "Deep indigo, dipped seven times and woven slowly on an old loom.",
    "Indigo that fades with you, held together by one red thread.",
  ],
  ecru: [
    "Undyed and unhurried: cotton as it left the field.",
    "Ecru, plain and strong, for everything that has to last.",
  ],
  madder: [
    "Madder red, dyed with roots and patience.",
    "A warm red from the root of a plant, woven to stay warm.",
  ],
};

/** Whether the scripted model answers as the copywriter of the demo workflow. */
export function isCopywriter(prompt: Prompt): boolean {
  return prompt.some(({ role, content }) => role === "system" && /^You write labels\b/.test(String(content)));
}

/** A label for the cloth in a request; another one for another length, or when asked again. */
export function labelFor(requests: readonly string[]): string {
  const last = requests.at(-1) ?? "";
  const [, metres = "0", cloth = "indigo"] = /(\d+) metres of (\w+)/.exec(last) ?? [];
  const labels = CLOTHS[cloth] ?? CLOTHS["indigo"]!;
  return labels[(Number(metres) + requests.length) % labels.length]!;
}
