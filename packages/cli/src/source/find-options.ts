import { lineOf, maskSource } from "./mask-source.ts";

export interface FoundOption {
  /** Keys joined by dots; `()` stands for the brackets of a call: `server.cors.origin`, `inputSchema.().city`. */
  path: string;
  /** The start of its value. Empty for a shorthand. */
  value: string;
  line: number;
}

const KEY = /\s*(?:["']([\w$-]+)["']|([\w$]+))\s*([:,}])/y;
const STRING = /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?/y;
const CLOSING = "}])";

/** The options that a source file writes out in `callee({ … })` or `new callee({ … })`. */
export function findOptions(source: string, callee: string): FoundOption[] {
  const code = maskSource(source);
  const found: FoundOption[] = [];
  const calls = new RegExp(`\\b${callee}\\s*(?:<[^(]{0,200}>)?\\(\\s*(?=\\{)`, "g");
  for (const { 0: text, index } of code.matchAll(calls)) {
    for (const option of keysFrom(code, index + text.length))
      found.push({ ...option, line: lineOf(source, option.at) });
  }
  return found;
}

/** Walks from an opening brace to the one that closes it. */
function* keysFrom(code: string, open: number): Generator<{ path: string; value: string; at: number }> {
  // The open brackets, each with the key or call it belongs to.
  const stack: { bracket: string; key: string }[] = [];
  let key = "";
  for (let at = open; at < code.length; at++) {
    const char = code[at]!;
    if (char === '"' || char === "'") {
      STRING.lastIndex = at;
      at += (STRING.exec(code)?.[0].length ?? 1) - 1;
    } else if ("{[(".includes(char)) {
      stack.push({ bracket: char, key });
      key = char === "(" ? "()" : char === "[" ? "[]" : "";
    } else if (CLOSING.includes(char)) {
      key = stack.pop()?.key ?? "";
      if (stack.length === 0) return;
    }
    if ((char !== "{" && char !== ",") || stack.at(-1)?.bracket !== "{") continue;
    KEY.lastIndex = at + 1;
    const match = KEY.exec(code);
    if (!match) continue;
    key = match[1] ?? match[2]!;
    const end = at + match[0].length;
    const path = [...stack.map((frame) => frame.key), key].filter((part) => part !== "").join(".");
    const start = at + 1 + match[0].search(/\S/);
    yield { path, value: match[3] === ":" ? code.slice(end + 1, end + 200).trim() : "", at: start };
    at = end - (match[3] === ":" ? 0 : 1);
  }
}
