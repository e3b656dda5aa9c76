/** Estimated characters per token. */
const CHARACTERS = 4;

/** Shortens a text for a model: the beginning and the end stay, whole lines where possible. */
export function cutOutput(text: string, maxTokens: number): string {
  const limit = maxTokens * CHARACTERS;
  if (text.length <= limit) return text;
  const half = Math.floor(limit / 2);
  const head = text.slice(0, lineBreakBefore(text, half));
  const tail = text.slice(lineBreakAfter(text, text.length - half));
  const left = text.slice(head.length, text.length - tail.length);
  return `${head}\n… ${left.length.toLocaleString("en")} characters (${left.split("\n").length.toLocaleString("en")} lines) left out …\n${tail}`;
}

function lineBreakBefore(text: string, at: number): number {
  const found = text.lastIndexOf("\n", at);
  return found > at / 2 ? found : at;
}

function lineBreakAfter(text: string, at: number): number {
  const found = text.indexOf("\n", at);
  return found >= 0 && found < at + (text.length - at) / 2 ? found + 1 : at;
}
