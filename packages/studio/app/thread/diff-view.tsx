import type { ReactNode } from "react";

const KINDS: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "hunk" };

/** A unified diff, without its file names. */
export function DiffView({ diff }: { diff: string }): ReactNode {
  const lines = diff
    .slice(Math.max(0, diff.indexOf("\n@@") + 1))
    .replace(/\n$/, "")
    .split("\n");
  return (
    <pre className="code diff" tabIndex={0}>
      {lines.map((line, index) => (
        <span key={index} data-line={KINDS[line[0] ?? ""]}>
          {line}
          {"\n"}
        </span>
      ))}
    </pre>
  );
}
