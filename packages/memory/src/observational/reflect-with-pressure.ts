import { countText } from "./count-tokens.ts";
import type { ParsedNotes } from "./parse-observations.ts";

const MOST_ATTEMPTS = 4;
const HIGHEST_LEVEL = 4;
/** Models that rewrite without shortening unless pressed. */
const COMPRESS_LITTLE = /gemini-2\.5-flash/;

export type Reflection =
  | { ok: true; parsed: Extract<ParsedNotes, { ok: true }>; tokens: number; level: number }
  | { ok: false; reason: "empty" | "repetitive" | "too-long" };

/** The level of a model's first attempt. */
export function firstLevel(model: string): number {
  return COMPRESS_LITTLE.test(model) ? 2 : 1;
}

/**
 * Requests a reflection until it is small enough, with more pressure each time. The smallest sound result counts if it
 * is smaller than its input. Identical output ends the attempts.
 */
export async function reflectWithPressure(options: {
  ask: (level: number) => Promise<ParsedNotes>;
  inputTokens: number;
  /** Small enough. */
  targetTokens: number;
  firstLevel?: number;
}): Promise<Reflection> {
  const { ask, inputTokens, targetTokens } = options;
  let best: Extract<Reflection, { ok: true }> | undefined;
  let reason: "empty" | "repetitive" | "too-long" = "empty";
  const seen = new Set<string>();
  let level = options.firstLevel ?? 1;
  for (let attempt = 1; attempt <= MOST_ATTEMPTS && level <= HIGHEST_LEVEL; attempt++, level++) {
    const parsed = await ask(level);
    const text = parsed.ok ? parsed.notes.observations : parsed.reason;
    if (seen.has(text)) break;
    seen.add(text);
    if (!parsed.ok) {
      reason = parsed.reason;
      continue;
    }
    const tokens = countText(text);
    if (!best || tokens < best.tokens) best = { ok: true, parsed, tokens, level };
    if (tokens <= targetTokens) break;
  }
  if (!best) return { ok: false, reason };
  return best.tokens < inputTokens ? best : { ok: false, reason: "too-long" };
}
