/** Words of other lengths are left unchanged. */
const SHORTEST = 3;
const LONGEST = 64;

type Rules = readonly (readonly [suffix: string, replacement: string])[];

const rules = (text: string): Rules =>
  text.split(" ").map((rule) => {
    const [suffix, replacement] = rule.split(">");
    return [suffix!, replacement ?? ""] as const;
  });

const STEP_2 = rules(
  "ational>ate tional>tion enci>ence anci>ance izer>ize logi>log bli>ble alli>al entli>ent eli>e ousli>ous ization>ize " +
    "ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble",
);
const STEP_3 = rules("icate>ic ative alize>al iciti>ic ical>ic ful ness");
const STEP_4 = rules(
  "al ance ence er ic able ible ant ement ment ent sion>s tion>t ou ism ate iti ous ive ize",
);

/** The stem of an English word by M. F. Porter's rules, as in SQLite's FTS5: `weaving` and `weaves` become `weav`. */
export function stem(word: string): string {
  if (word.length < SHORTEST || word.length > LONGEST) return word;
  let text = withoutTense(withoutPlural(word));
  if (text.endsWith("y") && hasVowel(text.slice(0, -1))) text = `${text.slice(0, -1)}i`;
  text = replace(text, STEP_2, 1);
  text = replace(text, STEP_3, 1);
  text = replace(text, STEP_4, 2);
  if (text.endsWith("e")) {
    const rest = text.slice(0, -1);
    const count = measure(rest);
    if (count > 1 || (count === 1 && !endsShort(rest))) text = rest;
  }
  return text.endsWith("ll") && measure(text.slice(0, -1)) > 1 ? text.slice(0, -1) : text;
}

function withoutPlural(word: string): string {
  if (!word.endsWith("s") || word.endsWith("ss")) return word;
  const isLong = (word.endsWith("sses") && word.length > 4) || (word.endsWith("ies") && word.length > 3);
  return word.slice(0, isLong ? -2 : -1);
}

function withoutTense(word: string): string {
  if (word.endsWith("eed") && word.length > 3)
    return measure(word.slice(0, -3)) > 0 ? word.slice(0, -1) : word;
  const rest = word.endsWith("ed") ? word.slice(0, -2) : word.endsWith("ing") ? word.slice(0, -3) : "";
  if (rest === "" || !hasVowel(rest)) return word;
  if (/(?:at|bl|iz)$/.test(rest) && rest.length > 2) return `${rest}e`;
  if (/([^aeioulsz])\1$/.test(rest)) return rest.slice(0, -1);
  return measure(rest) === 1 && endsShort(rest) ? `${rest}e` : rest;
}

/** The first matching suffix, if the rest of the word is long enough. */
function replace(word: string, suffixes: Rules, least: number): string {
  for (const [suffix, replacement] of suffixes) {
    if (word.length <= suffix.length || !word.endsWith(suffix)) continue;
    const rest = word.slice(0, -suffix.length);
    return measure(rest + (least === 2 ? replacement : "")) >= least ? rest + replacement : word;
  }
  return word;
}

/** `c` for each consonant and `v` for each vowel; `y` is a vowel after a consonant. */
function shape(word: string): string {
  let found = "";
  for (const letter of word) {
    const isVowel = "aeiou".includes(letter) || (letter === "y" && found.endsWith("c"));
    found += isVowel ? "v" : "c";
  }
  return found;
}

/** How often a vowel is followed by a consonant. */
function measure(word: string): number {
  return shape(word).split("vc").length - 1;
}

function hasVowel(word: string): boolean {
  return /[aeiou]|.y/.test(word);
}

/** Consonant, vowel, consonant, as in `-hop`; such a word had an `e`. */
function endsShort(word: string): boolean {
  return shape(word).endsWith("cvc") && !/[wxy]$/.test(word);
}
