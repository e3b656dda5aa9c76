import { createContext, type Context, Script } from "node:vm";
import { AgentError } from "../errors.ts";

export interface TextSpan {
  start: number;
  end: number;
}

/** A pattern that may backtrack is stopped after this long. */
const TIME_LIMIT_MS = 250;
/** How many ways of matching at one position still count as few. */
const FEW = 1024;
const QUANTIFIER = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
const TOKEN = /\\(?:u\{[0-9a-f]+\}|[pP]\{[^}]*\}|[^])|\[(?:\\[^]|[^\]\\])*\]|\((?:\?(?:[:]|<\w+>))?|[^]/giy;

/**
 * A regular expression that cannot block the process. One that is certainly linear runs as it is; any other runs with a
 * time limit and then throws `limit-exceeded`.
 */
export class SafePattern {
  readonly #regex: RegExp;
  readonly #isTrusted: boolean;
  #sandbox: { context: Context; script: Script } | undefined;

  /** `isTrusted`: the caller knows that the pattern is linear. */
  constructor(pattern: RegExp, isTrusted = false) {
    this.#regex = new RegExp(pattern.source, `${pattern.flags.replace(/[gy]/g, "")}g`);
    this.#isTrusted = isTrusted || isLinear(pattern.source);
  }

  /** The matches that start at `from` or later, without empty ones. */
  find(text: string, from = 0): TextSpan[] {
    const found = this.#isTrusted ? findAll(this.#regex, text, from) : this.#findWithin(text, from);
    const spans: TextSpan[] = [];
    for (let at = 0; at < found.length; at += 2) spans.push({ start: found[at]!, end: found[at + 1]! });
    return spans;
  }

  #findWithin(text: string, from: number): number[] {
    const { source, flags } = this.#regex;
    this.#sandbox ??= {
      context: createContext({ source, flags, text: "", from: 0 }),
      script: new Script(`(${findAll.toString()})(new RegExp(source, flags), text, from)`),
    };
    const { context, script } = this.#sandbox;
    Object.assign(context, { text, from });
    try {
      return script.runInContext(context, { timeout: TIME_LIMIT_MS }) as number[];
    } catch (cause) {
      throw new AgentError(
        "limit-exceeded",
        `The pattern ${this.#regex} took more than ${TIME_LIMIT_MS} ms. Write it without repetitions inside repetitions, and with an upper bound for each.`,
        { cause },
      );
    } finally {
      context["text"] = "";
    }
  }
}

// Also runs in a sandbox, so it refers only to its arguments.
function findAll(regex: RegExp, text: string, from: number): number[] {
  const found: number[] = [];
  regex.lastIndex = from;
  for (let match = regex.exec(text); match; match = regex.exec(text)) {
    if (match[0] === "") regex.lastIndex++;
    else found.push(match.index, regex.lastIndex);
  }
  return found;
}

/**
 * Whether the time is certainly linear: each position has few ways to match, and an unbounded repetition is at the end,
 * where it always succeeds. Conservative: it may say no for a linear pattern.
 */
export function isLinear(source: string): boolean {
  if (/\\[1-9]|\\k<|\(\?<?[=!]|\(\?[a-z-]+:/i.test(source)) return false;
  let ways = 1;
  let depth = 0;
  let isOpen = false;
  for (let at = 0; at < source.length;) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(source)![0];
    QUANTIFIER.lastIndex = at += token.length;
    const quantifier = QUANTIFIER.exec(source)?.[0] ?? "";
    at += quantifier.length;
    if (token.startsWith("(")) depth++;
    else if (token === ")") {
      depth--;
      if (quantifier !== "") return false;
      continue;
    } else if (token === "|") {
      ways *= 2;
      if (depth === 0) isOpen = false;
      continue;
    }
    if (isOpen) return false;
    const count = waysOf(quantifier);
    if (count === Infinity) isOpen = true;
    else ways *= count;
  }
  return ways <= FEW;
}

function waysOf(quantifier: string): number {
  if (quantifier === "") return 1;
  if (quantifier.startsWith("?")) return 2;
  const bounds = /^\{(\d+)(,(\d*))?\}/.exec(quantifier);
  if (!bounds || bounds[3] === "") return Infinity;
  const [least, most] = [Number(bounds[1]), Number(bounds[3] ?? bounds[1])];
  return most > FEW ? FEW + 1 : most - least + 1;
}
