const UNSPACED = String.raw`\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}`;
/** Runs of letters and digits; scripts written without spaces count sign by sign. */
const WORD = new RegExp(String.raw`[${UNSPACED}]|[[\p{L}\p{N}]--[${UNSPACED}]]+`, "gv");

/** The words of a text as they are compared: lower case, without accents. */
export function toWords(text: string): string[] {
  const plain = text
    .normalize("NFKD")
    .replaceAll(/\p{M}+/gu, "")
    .toLowerCase();
  return plain.match(WORD) ?? [];
}
