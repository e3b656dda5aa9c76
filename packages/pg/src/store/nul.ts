// PostgreSQL has no character U+0000, not even escaped in JSON. In stored JSON a mark and "0" stand for it, and the mark
// and "1" for the mark.
const MARK = "\uF8FF";

/** JSON text as it is stored. */
export function hideNul(json: string): string {
  if (!json.includes("\\u0000") && !json.includes(MARK)) return json;
  return json.replace(/\\u0000|\\.|\uF8FF/g, (part) =>
    part === "\\u0000" ? `${MARK}0` : part === MARK ? `${MARK}1` : part,
  );
}

/** Stored JSON text as it was given. */
export function showNul(json: string): string {
  if (!json.includes(MARK)) return json;
  return json.replace(/\uF8FF([01])/g, (_, which) => (which === "0" ? "\\u0000" : MARK));
}
