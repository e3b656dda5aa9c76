import { Fragment, type ReactNode } from "react";

/** How long a note matters, by the mark that the observer puts before it. */
const MARKS: Readonly<Record<string, string>> = {
  "🔴": "important",
  "🟡": "of use",
  "🟢": "detail",
  "✅": "done",
};
const MARK = new RegExp(`(${Object.keys(MARKS).join("|")})`, "u");

/** Notes with their marks as dots in the colours of the page. */
export function NoteText({ text }: { text: string }): ReactNode {
  return text.split(MARK).map((piece, index) => {
    const name = MARKS[piece];
    return name === undefined ? (
      <Fragment key={index}>{piece}</Fragment>
    ) : (
      <span key={index} className="note-mark" data-mark={name} role="img" aria-label={name} title={name} />
    );
  });
}
