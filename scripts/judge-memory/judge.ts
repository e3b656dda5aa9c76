import type { Fact } from "./conversation.ts";

export type Verdict = "shown" | "missing" | "stale";

/**
 * What a prompt says about a fact. The newest sentence about a thing counts. Of a fact that was withdrawn, a prompt need
 * not say anything.
 */
export function judgeFact({ thing, value, said, old }: Fact, sentences: readonly string[]): Verdict {
  const newest = sentences.findLast((sentence) => sentence.includes(thing));
  if (newest === undefined) return value === undefined ? "shown" : "missing";
  if (value !== undefined && [value, said ?? value].some((one) => newest.includes(one))) return "shown";
  if (value === undefined && newest.includes("no longer valid")) return "shown";
  return old !== undefined && newest.includes(old) ? "stale" : "missing";
}

/** The lines and sentences of a prompt, in order. */
export function sentencesOf(prompt: readonly string[]): string[] {
  return prompt.flatMap((text) => text.split(/\n|(?<=\.)\s/));
}

/** How much of a prompt a provider's cache holds: the bytes that it shares with the one before, from the start. */
export function sharedPrefix(
  previous: readonly string[],
  next: readonly string[],
): { shared: number; total: number } {
  const total = next.reduce((sum, text) => sum + text.length, 0);
  let shared = 0;
  for (const [index, text] of next.entries()) {
    const before = previous[index];
    if (before !== text) {
      shared += common(before ?? "", text);
      break;
    }
    shared += text.length;
  }
  return { shared, total };
}

function common(a: string, b: string): number {
  let length = 0;
  while (length < a.length && length < b.length && a[length] === b[length]) length++;
  return length;
}
