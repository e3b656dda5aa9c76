import type { ReactNode } from "react";
import { formatNumber } from "../format.ts";
import { CodeBlock } from "../markdown/code-block.tsx";
import { useStudio } from "../studio-context.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";

const MOST = 200_000;

/** The content of a file. */
export function FileView({ workspaceId, path }: { workspaceId: string; path: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const file = useLoad(`file ${workspaceId} ${path}`, (signal) =>
    client.call("readWorkspaceFile", { params: { workspaceId }, query: { resourceId, path }, signal }),
  );
  if (file.error) return <Failure error={file.error} onRetry={file.reload} />;
  if (!file.value) return <Loading what="the file" />;
  const { content, encoding, size } = file.value;
  const language = path.slice(path.lastIndexOf(".") + 1);
  return (
    <section aria-label={path} className="stack">
      <p className="row">
        <span className="mono grow truncate">{path}</span>
        <span className="hint">{formatNumber(size)} bytes</span>
      </p>
      {encoding === "base64" ? (
        <p className="muted">This file is not text.</p>
      ) : (
        <CodeBlock code={content.slice(0, MOST)} language={language} />
      )}
      {content.length > MOST && encoding !== "base64" && <p className="hint">The rest is not shown.</p>}
    </section>
  );
}
