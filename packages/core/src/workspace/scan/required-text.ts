const TOKEN =
  /\\(?:u\{[^}]*\}|u[0-9a-f]{4}|x[0-9a-f]{2}|c[a-z]|[pPk][{<][^}>]*[}>]|\d+|[^])|\[(?:\\[^]|[^\]\\])*\]|\(\?<?[=!]|\((?:\?(?:<\w+>|[a-z-]*:))?|[^]/giy;
const QUANTIFIER = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;
const SPECIAL = /^[.^$|)[({*+?\\]/;
/** An escaped character that stands for itself. */
const ESCAPED = /^\\[^\w\s]$/;

/**
 * A text that occurs in everything a regular expression matches: the longest run of plain characters that is not optional.
 * Files without it need not be decoded. Undefined if none was found.
 */
export function requiredText({
  pattern,
  caseSensitive = true,
}: {
  pattern: string;
  caseSensitive?: boolean;
}): string | undefined {
  if (!caseSensitive) return undefined;
  let best = "";
  let run = "";
  let depth = 0;
  for (let at = 0; at < pattern.length;) {
    TOKEN.lastIndex = at;
    const token = TOKEN.exec(pattern)![0];
    QUANTIFIER.lastIndex = at += token.length;
    const quantifier = QUANTIFIER.exec(pattern)?.[0] ?? "";
    at += quantifier.length;
    if (token.startsWith("(")) depth++;
    else if (token === ")") depth--;
    else if (token === "|" && depth === 0) return undefined;
    const plain = ESCAPED.test(token) ? token.slice(1) : SPECIAL.test(token) ? undefined : token;
    if (depth > 0 || plain === undefined || quantifier !== "") {
      // One or more: the first belongs to the run, and whatever comes next starts another.
      if (depth === 0 && plain !== undefined && quantifier.startsWith("+")) run += plain;
      if (run.length > best.length) best = run;
      run = "";
    } else run += plain;
  }
  if (run.length > best.length) best = run;
  return best === "" ? undefined : best;
}
