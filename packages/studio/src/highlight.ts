export interface Piece {
  kind: "plain" | "comment" | "string" | "number" | "keyword";
  text: string;
}

/** Longer code is shown without colours. */
const MAX_LENGTH = 40_000;

const HASH: ReadonlySet<string> = new Set(
  "py python sh bash zsh shell yaml yml toml rb ruby dockerfile".split(" "),
);
const DASHES: ReadonlySet<string> = new Set(["sql", "lua", "haskell", "hs"]);
const NO_COLOURS: ReadonlySet<string> = new Set([
  "",
  "text",
  "txt",
  "plain",
  "md",
  "markdown",
  "diff",
  "log",
]);

const KEYWORDS: ReadonlySet<string> = new Set(
  `abstract and as async await break case catch class const continue def default defer del delete do done echo elif else end
  enum esac except export extends false False fi finally fn for from func function go if impl implements import in
  interface is lambda let match mod mut namespace new nil none None not null of or package pass private protected pub
  public raise readonly return select self static struct super switch then this throw trait true True try type typeof
  undefined union until use using var void where while with yield SELECT FROM WHERE JOIN LEFT INNER ON GROUP BY ORDER
  LIMIT INSERT INTO VALUES UPDATE SET DELETE CREATE TABLE INDEX AND OR NOT NULL AS PRIMARY KEY`.split(/\s+/),
);

const STRING = /"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?/.source;
const REST = `(?<string>${STRING})|(?<number>\\b\\d[\\d_]*(?:\\.\\d+)?\\b)|(?<word>[A-Za-z_$][\\w$]*)`;
const C_LIKE = new RegExp(`(?<comment>\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$))|${REST}`, "g");
const WITH_HASH = new RegExp(`(?<comment>#[^\\n]*)|${REST}`, "g");
const WITH_DASHES = new RegExp(`(?<comment>--[^\\n]*)|${REST}`, "g");

/**
 * Code in the few colours that help reading. A guess by shapes that many languages share; the texts of the pieces
 * always add up to the code.
 */
export function highlight(code: string, language: string): Piece[] {
  const name = language.toLowerCase();
  if (NO_COLOURS.has(name) || code.length > MAX_LENGTH) return [{ kind: "plain", text: code }];
  const pattern = HASH.has(name) ? WITH_HASH : DASHES.has(name) ? WITH_DASHES : C_LIKE;
  const pieces: Piece[] = [];
  const add = (kind: Piece["kind"], text: string): void => {
    const last = pieces.at(-1);
    if (text === "") return;
    if (last?.kind === "plain" && kind === "plain") last.text += text;
    else pieces.push({ kind, text });
  };
  let end = 0;
  for (const match of code.matchAll(pattern)) {
    const { comment, string, number } = match.groups!;
    const text = match[0];
    add("plain", code.slice(end, match.index));
    if (comment !== undefined) add("comment", text);
    else if (string !== undefined) add("string", text);
    else if (number !== undefined) add("number", text);
    else add(KEYWORDS.has(text) ? "keyword" : "plain", text);
    end = match.index + text.length;
  }
  add("plain", code.slice(end));
  return pieces;
}
