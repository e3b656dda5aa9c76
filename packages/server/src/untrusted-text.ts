import type { SignalContents } from "@selvedge/protocol/routes";

/** Tags that a model takes for more than a person's words. */
const RESERVED =
  /<(?=\/?(?:system|notification|notification-summary|state|user|current-task-list|task-list-update|working_memory|remembered_messages)[\s/>]|\s{0,8}\/?\s{0,8}system-reminder(?![\w-]))/giu;

/** A text in which such tags are no longer tags. */
export function neutralise(text: string): string {
  return text.replace(RESERVED, "&lt;");
}

export function neutraliseContents(contents: SignalContents): SignalContents {
  if (typeof contents === "string") return neutralise(contents);
  return contents.map((part) => (part.type === "text" ? { ...part, text: neutralise(part.text) } : part));
}

/** Why somebody said no, which the model reads as the outcome of its call. */
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

/** Messages of a call: every text in them, wherever it stands. */
export function neutraliseDeep<Value>(value: Value): Value {
  if (typeof value === "string") return neutralise(value) as Value;
  if (Array.isArray(value)) return value.map((item: unknown) => neutraliseDeep(item)) as Value;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [
      key,
      key === "data" || key === "url" ? item : neutraliseDeep(item),
    ]),
  ) as Value;
}
