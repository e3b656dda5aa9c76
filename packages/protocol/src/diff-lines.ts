export interface DiffLine {
  sign: "+" | "-" | " ";
  text: string;
}

/** More lines than this are not compared one by one. */
const MAX_LINES = 2_000;
/** Lines that are shown before and after a change. */
const CONTEXT = 2;

/** How a text differs from another, line by line, with a little of what stayed around each change. */
export function diffLines(before: string, after: string): DiffLine[] {
  const a = before === "" ? [] : before.replace(/\n$/, "").split("\n");
  const b = after === "" ? [] : after.replace(/\n$/, "").split("\n");
  const all = a.length > MAX_LINES || b.length > MAX_LINES ? replaced(a, b) : compared(a, b);
  return all.filter((line, index) => line.sign !== " " || isNear(all, index));
}

function isNear(lines: readonly DiffLine[], index: number): boolean {
  return lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ sign }) => sign !== " ");
}

function replaced(a: readonly string[], b: readonly string[]): DiffLine[] {
  return [
    ...a.map((text): DiffLine => ({ sign: "-", text })),
    ...b.map((text): DiffLine => ({ sign: "+", text })),
  ];
}

/** By the longest common subsequence. */
function compared(a: readonly string[], b: readonly string[]): DiffLine[] {
  const common = Array.from({ length: a.length + 1 }, () => new Uint16Array(b.length + 1));
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i]![j] =
        a[i] === b[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!);
  const lines: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: " ", text: a[i]! });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      lines.push({ sign: "-", text: a[i++]! });
    } else lines.push({ sign: "+", text: b[j++]! });
  }
  return lines;
}
