import type { Separator } from "./split-text.ts";

const DEFAULT_ENDERS = [".", "!", "?", "…"];
/** These end a sentence without a following space. */
const TIGHT_ENDERS = "。！？";

/** The end of a sentence: an ender, closing quotes and brackets, then white space, which stays with the sentence. */
export function sentenceSeparator(enders: readonly string[] = DEFAULT_ENDERS): Separator {
  const any = enders
    .filter((ender) => ender !== "")
    .map((ender) => escapePattern(ender))
    .join("|");
  // Bounded repetition keeps the search linear on hostile text.
  const spaced = any === "" ? [] : [`(?:${any})["'”’»)\\]]{0,4}\\s{1,8}`];
  return {
    text: new RegExp([...spaced, `[${TIGHT_ENDERS}]["'”’»)\\]」』]{0,4}`].join("|"), "gu"),
    cut: "after",
  };
}

function escapePattern(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|/]/g, String.raw`\$&`);
}
