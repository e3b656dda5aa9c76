import { type ReactNode, useState } from "react";
import { Link, path as hrefTo, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";
import { FileTree } from "../workspace/file-tree.tsx";
import { FileView } from "../workspace/file-view.tsx";
import { ProcessList } from "../workspace/process-list.tsx";
import { SearchHits } from "../workspace/search-hits.tsx";
import { SkillList } from "../workspace/skill-list.tsx";

/** The files, the index and the skills of a workspace. */
export function WorkspacePage({ workspaceId }: { workspaceId?: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const { query, go } = useRouter();
  const list = useLoad(`workspaces ${resourceId}`, (signal) =>
    client.call("listWorkspaces", { query: { resourceId }, signal }),
  );
  const [words, setWords] = useState("");
  const workspaces = list.value?.workspaces ?? [];
  const chosen = workspaces.find(({ id }) => id === workspaceId) ?? workspaces[0];
  const file = query.get("file") ?? undefined;
  const show = (path: string): void => go(hrefTo(["workspace", chosen!.id], { file: path }));
  const { canBM25, canVector, hasFilesystem, hasSkills } = chosen?.capabilities ?? {};
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Workspace</h1>
          <p>Files that agents work on</p>
        </div>
      </div>
      {list.error && <Failure error={list.error} onRetry={list.reload} />}
      {list.loading && !list.value && <Loading what="workspaces" />}
      {list.value && !chosen && (
        <Empty title="No workspace">
          <p>
            Workspaces of agents and of the host appear here. A workspace that all callers share requires the
            grant inspect.
          </p>
        </Empty>
      )}
      {chosen && (
        <div className="split" key={chosen.id}>
          <nav aria-label="Files" className="stack workspace-nav">
            {workspaces.length > 1 && (
              <ul className="nav tool-nav">
                {workspaces.map(({ id, name, agentName }) => (
                  <li key={id}>
                    <Link
                      href={hrefTo(["workspace", id], {})}
                      aria-current={id === chosen.id ? "page" : undefined}
                    >
                      <span className="grow truncate">
                        {name}
                        {agentName && <span className="hint block truncate">{agentName}</span>}
                      </span>
                    </Link>
                  </li>
                ))}
              </ul>
            )}
            {(canBM25 || canVector) && (
              <input
                className="input"
                type="search"
                aria-label="Search the workspace"
                placeholder="Search"
                value={words}
                onChange={({ target }) => setWords(target.value)}
              />
            )}
            {hasFilesystem && <FileTree workspaceId={chosen.id} file={file} onOpen={show} />}
          </nav>
          <div className="stack">
            <div className="row">
              <h2 className="grow">
                {file === undefined ? (
                  chosen.name
                ) : (
                  <Link href={hrefTo(["workspace", chosen.id], {})}>{chosen.name}</Link>
                )}
              </h2>
              {chosen.safety.readOnly && <Badge>read-only</Badge>}
              {chosen.capabilities.hasSandbox && <Badge>runs commands</Badge>}
            </div>
            {words.trim() !== "" && <SearchHits workspaceId={chosen.id} words={words.trim()} onOpen={show} />}
            {file !== undefined && <FileView key={file} workspaceId={chosen.id} path={file} />}
            {file === undefined && words.trim() === "" && hasFilesystem && (
              <p className="muted">Choose a file.</p>
            )}
            {chosen.capabilities.hasSandbox && file === undefined && <ProcessList workspaceId={chosen.id} />}
            {hasSkills && file === undefined && <SkillList workspaceId={chosen.id} />}
          </div>
        </div>
      )}
    </div>
  );
}
