import type { TextSpan } from "./safe-pattern.ts";

/** Prefixes of keys and tokens of well-known services. */
const PREFIX =
  /(?<![A-Za-z0-9])(?:sk-|sk_live_|sk_test_|rk_live_|rk_test_|gh[pousr]_|github_pat_|glpat-|AKIA|ASIA|AIza|xox[abposre]-|npm_|pypi-|hf_|eyJ|[Bb]earer )/g;
const TOKEN = /[A-Za-z0-9_.\-~+/=]*/y;
const MIN_TOKEN = 20;
const BEGIN_KEY = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----/g;
const END_KEY = /-----END (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY-----/g;
/** A longer block without an end is not a key; this much of it is treated as one. */
const MAX_KEY = 16_384;

/** Keys, tokens and private keys, in order. Linear time for any text. */
export function findSecrets(text: string): TextSpan[] {
  return [...findTokens(text), ...findPrivateKeys(text)];
}

function findTokens(text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  PREFIX.lastIndex = 0;
  for (let match = PREFIX.exec(text); match; match = PREFIX.exec(text)) {
    const bearer = match[0].endsWith(" ");
    const start = bearer ? match.index + match[0].length : match.index;
    TOKEN.lastIndex = start;
    const end = start + TOKEN.exec(text)![0].length;
    // A match that starts inside this one is shorter still, so the search continues after it.
    PREFIX.lastIndex = Math.max(end, match.index + match[0].length);
    if (end - start < MIN_TOKEN || (match[0] === "eyJ" && !isJwt(text.slice(start, end)))) continue;
    spans.push({ start, end });
  }
  return spans;
}

function isJwt(token: string): boolean {
  const first = token.indexOf(".");
  return first > 0 && token.indexOf(".", first + 1) > 0;
}

function findPrivateKeys(text: string): TextSpan[] {
  const spans: TextSpan[] = [];
  BEGIN_KEY.lastIndex = 0;
  for (let match = BEGIN_KEY.exec(text); match; match = BEGIN_KEY.exec(text)) {
    const end = keyEnd(text, match.index + match[0].length);
    spans.push({ start: match.index, end });
    BEGIN_KEY.lastIndex = end;
  }
  return spans;
}

function keyEnd(text: string, from: number): number {
  const window = text.slice(from, from + MAX_KEY);
  END_KEY.lastIndex = 0;
  return from + (END_KEY.test(window) ? END_KEY.lastIndex : window.length);
}
