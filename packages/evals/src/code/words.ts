/** The words of a text in lower case, without diacritics and punctuation. */
export function words(text: string): string[] {
  return (
    text
      .normalize("NFD")
      .replaceAll(/\p{M}/gu, "")
      .toLowerCase()
      .match(/[\p{L}\p{N}]+(?:['’][\p{L}]+)?/gu) ?? []
  );
}

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about after all also am an and any are as at be because been before being between both but by can could did do
  does doing down during each few for from further had has have having he her here hers him his how i if in into is it
  its just like me more most my no nor not now of off on once only or other our out over own please same she should so
  some such tell than that the their them then there these they this those through to too under until up very was we
  were what when where which while who whom why will with would you your`.split(/\s+/),
);

/** The words of a text that say what it is about. */
export function keywords(text: string): Set<string> {
  return new Set(words(text).filter((word) => !STOP_WORDS.has(word) && !/^\d+$/.test(word)));
}
