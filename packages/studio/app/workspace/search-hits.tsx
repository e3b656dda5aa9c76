import { type ReactNode, useDeferredValue } from "react";
import { useStudio } from "../studio-context.tsx";
import { Failure } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";

const SHOWN_LINES = 12;

/** The passages that fit some words, best first. */
export function SearchHits({
  workspaceId,
  words,
  onOpen,
}: {
  workspaceId: string;
  words: string;
  onOpen(path: string): void;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const query = useDeferredValue(words);
  const found = useLoad(`search ${workspaceId} ${query}`, (signal) =>
    client.call("searchWorkspace", { params: { workspaceId }, query: { resourceId, query }, signal }),
  );
  if (found.error) return <Failure error={found.error} />;
  return (
    <section aria-label="Found passages" className="stack">
      {found.value?.results.length === 0 && <p className="muted">Nothing found.</p>}
      {found.value?.results.map(({ id, content, lineRange }, index) => (
        <div key={index} className="card">
          <button type="button" className="button" data-kind="quiet" onClick={() => onOpen(id)}>
            <span className="mono">{id}</span>
            {lineRange && <span className="hint">from line {lineRange.start}</span>}
          </button>
          <pre className="code" tabIndex={0}>
            {content.split("\n").slice(0, SHOWN_LINES).join("\n")}
          </pre>
        </div>
      ))}
    </section>
  );
}
