import { MARKS } from "./om-texts.ts";

const HEADING = /^\s*(?:#+\s*)?(?:Date:\s*)(\d{4}-\d{2}-\d{2})\b/;
const TIME = /^\s*[-*•]\s*\S*?\s*\(?([01]\d|2[0-3]):([0-5]\d)\)?(?=\s)/;

/** Whether a line of the log is a date heading. */
export function isDateHeading(line: string): boolean {
  return HEADING.test(line);
}

/** One line of the log with its date. Indented lines belong to the fact before them. */
export interface LogLine {
  text: string;
  /** The heading above, if there is one. */
  heading: string | undefined;
  date: string | undefined;
  /** `14:30`, if the line has a time. */
  time: string | undefined;
  isImportant: boolean;
}

/** The facts of a log, without its headings and empty lines. */
export function logLines(text: string): LogLine[] {
  const lines: LogLine[] = [];
  let heading: string | undefined;
  let date: string | undefined;
  for (const line of text.split("\n")) {
    const opened = HEADING.exec(line);
    if (opened) {
      heading = line;
      date = opened[1];
      continue;
    }
    if (line.trim() === "") continue;
    const previous = lines.at(-1);
    if (/^\s{2,}/.test(line) && previous && previous.heading === heading) {
      previous.text += `\n${line}`;
      continue;
    }
    const [, hour, minute] = TIME.exec(line) ?? [];
    const time = hour === undefined ? undefined : `${hour}:${minute}`;
    lines.push({ text: line, heading, date, time, isImportant: line.includes(MARKS.high) });
  }
  return lines;
}

/** Facts as text again, each date once. */
export function joinLines(lines: readonly LogLine[]): string {
  let heading: string | undefined;
  const out: string[] = [];
  for (const line of lines) {
    if (line.heading !== heading && line.heading !== undefined) out.push(line.heading);
    heading = line.heading;
    out.push(line.text);
  }
  return out.join("\n");
}
