import type { ReactNode } from "react";
import { useMedia } from "../use-media.ts";
import { type DiffRow, diffRows } from "./diff-rows.ts";

const KINDS: Readonly<Record<string, string>> = { "+": "added", "-": "removed", "@": "hunk" };
/** Two columns of code need this much. */
const WIDE = "(min-width: 60rem)";

/** A unified diff, without its file names: before and after side by side, or one below the other on a narrow screen. */
export function DiffView({ diff }: { diff: string }): ReactNode {
  const isWide = useMedia(WIDE);
  const text = diff.slice(Math.max(0, diff.indexOf("\n@@") + 1)).replace(/\n$/, "");
  return isWide ? <SideBySide rows={diffRows(text)} /> : <Unified lines={text.split("\n")} />;
}

function Unified({ lines }: { lines: readonly string[] }): ReactNode {
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

function SideBySide({ rows }: { rows: readonly DiffRow[] }): ReactNode {
  return (
    <div className="code sides" tabIndex={0} role="region" aria-label="Before and after">
      <table>
        <colgroup>
          <col className="line-number" />
          <col />
          <col className="line-number" />
          <col />
        </colgroup>
        <thead className="visually-hidden">
          <tr>
            <th scope="col" colSpan={2}>
              Before
            </th>
            <th scope="col" colSpan={2}>
              After
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row, index) =>
            "hunk" in row ? (
              <tr key={index}>
                <td colSpan={4} data-line="hunk">
                  {row.hunk}
                </td>
              </tr>
            ) : (
              <tr key={index}>
                <Side side={row.before} change={row.isSame ? undefined : "removed"} />
                <Side side={row.after} change={row.isSame ? undefined : "added"} />
              </tr>
            ),
          )}
        </tbody>
      </table>
    </div>
  );
}

function Side({
  side,
  change,
}: {
  side: { line: number; text: string } | undefined;
  change: "added" | "removed" | undefined;
}): ReactNode {
  if (!side) return <td colSpan={2} data-line="none" />;
  return (
    <>
      <td className="line-number" aria-hidden="true">
        {side.line}
      </td>
      <td data-line={change}>{side.text}</td>
    </>
  );
}
