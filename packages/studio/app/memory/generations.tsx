import { diffLines } from "@selvedge/protocol";
import { type ReactNode, useState } from "react";
import { formatNumber } from "../format.ts";
import { useStudio } from "../studio-context.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { NoteText } from "./note-text.tsx";
import type { ThreadMemory } from "./use-memory.ts";

const MARK = { "+": "added", "-": "removed", " ": undefined } as const;

/** The notes as they were before each reflection, and what it changed. Fetched when opened. */
export function Generations({ memory, count }: { memory: ThreadMemory; count: number }): ReactNode {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary className="small">Earlier generations ({count})</summary>
      {isOpen && <List memory={memory} count={count} />}
    </details>
  );
}

function List({ memory, count }: { memory: ThreadMemory; count: number }): ReactNode {
  const { client, resourceId } = useStudio();
  const { threadId, agentId } = memory;
  const { value, error, reload } = useLoad(
    threadId,
    async (signal) => {
      const query = { resourceId, ...(agentId !== undefined && { agentId }) };
      return (await client.call("listObservationalGenerations", { params: { threadId }, query, signal }))
        .generations;
    },
    count,
  );
  if (error) return <Failure error={error} onRetry={reload} />;
  if (!value) return <Loading what="generations" />;
  return (
    <ol className="stack" reversed>
      {value.map(({ generation, endedAt, before, after, beforeTokens, afterTokens }) => (
        <li key={generation}>
          <details className="lane" data-testid="generation">
            <summary className="row">
              <span className="small grow">
                {formatNumber(beforeTokens)} → {formatNumber(afterTokens)} tokens
              </span>
              <span className="hint">
                <Time at={endedAt} ago />
              </span>
            </summary>
            <pre className="code">
              {diffLines(before, after).map(({ sign, text }, index) => (
                <span key={index} className="diff-line" data-change={MARK[sign]}>
                  {sign} <NoteText text={text} />
                  {"\n"}
                </span>
              ))}
            </pre>
          </details>
        </li>
      ))}
    </ol>
  );
}
