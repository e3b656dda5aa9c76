const TOKEN =
  /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\[\s\S]|[^`\\])*`?/g;

/**
 * The source with comments and template texts replaced by spaces, so that a search finds only code. Every character keeps
 * its place. It knows no grammar: TypeScript, JSX and files with errors work, and a quote in a regular expression or in
 * JSX text hides at most the rest of its line.
 */
export function maskSource(source: string): string {
  return source.replace(TOKEN, (token) =>
    token[0] === '"' || token[0] === "'" ? token : token.replace(/[^\n]/g, " "),
  );
}

/** The source with comments replaced by spaces. */
export function withoutComments(source: string): string {
  return source.replace(TOKEN, (token) => (token[0] === "/" ? token.replace(/[^\n]/g, " ") : token));
}

/** A string that can only be text: what a quote in a regular expression seems to open contains other characters. */
const PROSE = /^(["'])[\w\s.:,!?-]*\1$/;

/** The source with comments and strings of words replaced by spaces. Templates stay: they may contain code. */
export function withoutWords(source: string): string {
  return source.replace(TOKEN, (token) =>
    token[0] === "/" || PROSE.test(token) ? token.replace(/[^\n]/g, " ") : token,
  );
}

/** The line of a position, from 1. */
export function lineOf(source: string, position: number): number {
  let line = 1;
  for (let at = source.indexOf("\n"); at !== -1 && at < position; at = source.indexOf("\n", at + 1)) line++;
  return line;
}
