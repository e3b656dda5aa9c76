/** Characters that no text of ours contains. */
const CONTROL = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F\u0085\u2028\u2029\uFFFE\uFFFF]/g;

/**
 * Escapes text inside a block of a prompt. Whatever could open or close an element is defused, so no line can end its
 * block or imitate a signal. Escaping twice changes nothing.
 */
export function escapeNotes(text: string): string {
  return text
    .toWellFormed()
    .replaceAll("\r\n", "\n")
    .replaceAll("\r", "\n")
    .replaceAll(CONTROL, "")
    .replaceAll(/<(?=[\p{L}/!?_])/gu, "&lt;");
}

/** The same for the value of an attribute. */
export function escapeName(text: string): string {
  return escapeNotes(text).replaceAll("\n", " ").replaceAll('"', "&quot;").replaceAll("<", "&lt;");
}
