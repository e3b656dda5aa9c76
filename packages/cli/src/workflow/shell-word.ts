/** A text as one argument in a shell. Names come from servers, and people copy what we print. */
export function shellWord(text: string): string {
  return /^[\w.,:@/+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
