/**
 * Text from a model, a tool or another person, safe to show: without escape sequences, which could move the cursor, fill the
 * clipboard or rename the window, and without characters that turn the direction of what follows.
 */
export function printable(text: string): string {
  return text
    .replace(SEQUENCE, "")
    .replace(/\r\n?/g, "\n")
    .replace(/\t/g, "    ")
    .replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, "");
}

/** The same on one line, and not longer than `length` characters. */
export function oneLine(text: string, length: number = 200): string {
  // A large value is not read to its end for a line that shows its beginning.
  const line = printable(text.slice(0, 4 * length))
    .replace(/\s+/g, " ")
    .trim();
  return line.length > length || text.length > 4 * length ? `${line.slice(0, length).trimEnd()}…` : line;
}

/** CSI and OSC sequences as a whole: only their first character is a control character. */
const SEQUENCE =
  /(?:\u001b\[|\u009b)[0-?]*[ -/]*[@-~]|(?:\u001b[\]PX^_]|[\u0090\u0098\u009d-\u009f])[^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)/g;
