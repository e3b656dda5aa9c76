import type { SignalContents } from "@selvedge/protocol/routes";

/** Tags that a model may take for more than a user's text. */
const NAMES = [
  "system",
  "notification",
  "notification-summary",
  "state",
  "user",
  "current-task-list",
  "task-list-update",
  "working_memory",
  "remembered_messages",
];

// Every piece matches in one way only, so hostile text costs no more than its length.
/** Invisible characters: formats, controls, fillers and selectors. */
const UNSEEN = String.raw`\p{Cf}\p{DI}\x00-\x08\x0e-\x1f\x7f-\x9f`;
const GAP = String.raw`[\s${UNSEEN}]*`;
const SLASH = `(?:/${GAP})?`;
/** A tag name, possibly with invisible characters in it. */
const spelled = (name: string) => name.split("").join(`[${UNSEEN}]*`);
const anyName = `(?:${NAMES.map(spelled).join("|")})`;

/** `<` before such a name. After a gap it counts as a tag only if it ends like one: "a < state" does not. */
const RESERVED = new RegExp(
  [
    String.raw`<(?=/?${anyName}[\s/>${UNSEEN}]`,
    String.raw`${GAP}${SLASH}${anyName}(?:[\s/${UNSEEN}][^<>]*)?>`,
    String.raw`${GAP}${SLASH}${spelled("system-reminder")}(?![\w-]))`,
  ].join("|"),
  "giu",
);

/** Escapes such tags in a text. */
export function neutralise(text: string): string {
  return text.replace(RESERVED, "&lt;");
}

/** What a model may read between two parts. */
const JOINTS = ["", "\n"];

/** The same for texts that a model reads in sequence: a tag may start in one and end in another. */
function neutraliseTexts(texts: readonly string[]): string[] {
  const own = texts.map(neutralise);
  if (own.length < 2) return own;
  return JOINTS.reduce(neutraliseJoined, own);
}

function neutraliseJoined(texts: readonly string[], joint: string): string[] {
  const found = [...texts.join(joint).matchAll(RESERVED)].map(({ index }) => index);
  if (found.length === 0) return [...texts];
  let start = 0;
  let next = 0;
  return texts.map((text) => {
    const end = start + text.length;
    let safe = "";
    let from = start;
    for (; next < found.length && found[next]! < end; next++) {
      safe += `${text.slice(from - start, found[next]! - start)}&lt;`;
      from = found[next]! + 1;
    }
    safe += text.slice(from - start);
    start = end + joint.length;
    return safe;
  });
}

export function neutraliseContents(contents: SignalContents): SignalContents {
  return typeof contents === "string" ? neutralise(contents) : neutraliseParts(contents);
}

/** Parts of one message of any kind: those with text are read together. */
function neutraliseParts<Part>(parts: readonly Part[]): Part[] {
  const isText = (part: unknown): part is { text: string } =>
    typeof (part as { text?: unknown } | null)?.text === "string";
  const texts = neutraliseTexts(parts.flatMap((part) => (isText(part) ? part.text : []))).values();
  return parts.map((part) => (isText(part) ? { ...part, text: texts.next().value as string } : part));
}

/** A decline reason, which the model reads as the result of its call. */
export function neutraliseReasons<Reasons extends { reason?: string; message?: string }>(
  reasons: Reasons,
): Reasons {
  const { reason, message } = reasons;
  return {
    ...reasons,
    ...(reason !== undefined && { reason: neutralise(reason) }),
    ...(message !== undefined && { message: neutralise(message) }),
  };
}

/** Messages of a call: every text in them, at any depth. */
export function neutraliseDeep<Value>(value: Value): Value {
  if (typeof value === "string") return neutralise(value) as Value;
  if (Array.isArray(value))
    return neutraliseParts(value.map((item: unknown) => neutraliseDeep(item))) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "data" || key === "url" ? item : neutraliseDeep(item),
    ]),
  ) as Value;
}
