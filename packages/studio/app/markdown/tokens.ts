import { lexer, type Token } from "marked";

export interface Tokens {
  text: string;
  tokens: Token[];
  /** How many tokens from the start will not change when text is added, and where they end. */
  settled: number;
  offset: number;
}

/** A block at the end may still become part of the one before it: a list goes on after an empty line. */
const OPEN_BLOCKS = 3;

/**
 * The blocks of a markdown text. When the text only grew since `before`, blocks that were finished then are taken over as
 * the same objects, so an answer that streams in costs what its last blocks cost.
 */
export function toTokens(text: string, before?: Tokens): Tokens {
  const grew = before !== undefined && text.startsWith(before.text);
  if (grew && text.length === before.text.length) return before;
  const kept = grew ? before.tokens.slice(0, before.settled) : [];
  let offset = grew ? before.offset : 0;
  const fresh = lexer(text.slice(offset));
  const closed = fresh.slice(0, Math.max(0, fresh.length - OPEN_BLOCKS));
  for (const token of closed) offset += token.raw.length;
  return { text, tokens: [...kept, ...fresh], settled: kept.length + closed.length, offset };
}
