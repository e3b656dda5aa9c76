/** A line of a file. */
interface DiffLine {
  line: number;
  text: string;
}

/** What stands beside each other. Where a line was only added or only removed, the other side is absent. */
export type DiffRow =
  | { hunk: string }
  | { before: DiffLine | undefined; after: DiffLine | undefined; isSame: boolean };

/** The rows of a unified diff without file names. Lines that replace others stand beside them. */
export function diffRows(diff: string): DiffRow[] {
  const rows: DiffRow[] = [];
  let removed: DiffLine[] = [];
  let added: DiffLine[] = [];
  let [before, after] = [1, 1];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at++)
      rows.push({ before: removed[at], after: added[at], isSame: false });
    [removed, added] = [[], []];
  };
  for (const line of diff.split("\n")) {
    const text = line.slice(1);
    if (line.startsWith("-")) removed.push({ line: before++, text });
    else if (line.startsWith("+")) added.push({ line: after++, text });
    else {
      flush();
      const hunk = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line);
      if (hunk) {
        [before, after] = [Number(hunk[1]), Number(hunk[2])];
        rows.push({ hunk: line });
      } else if (!line.startsWith("\\"))
        rows.push({ before: { line: before++, text }, after: { line: after++, text }, isSame: true });
    }
  }
  flush();
  return rows;
}
