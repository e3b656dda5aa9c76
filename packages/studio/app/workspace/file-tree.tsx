import { type ReactNode, useState } from "react";
import { useStudio } from "../studio-context.tsx";
import { Icon } from "../ui/icon.tsx";
import { Failure } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";

interface TreeProps {
  workspaceId: string;
  /** The open file. */
  file: string | undefined;
  onOpen(path: string): void;
}

const MOST = 500;

/** The entries of a directory. Those below are loaded when they are opened. */
export function FileTree({ folder = ".", ...tree }: TreeProps & { folder?: string }): ReactNode {
  const { client, resourceId } = useStudio();
  const { workspaceId } = tree;
  const list = useLoad(`files ${workspaceId} ${folder}`, (signal) =>
    client.call("listWorkspaceFiles", {
      params: { workspaceId },
      query: { resourceId, path: folder },
      signal,
    }),
  );
  if (list.error) return <Failure error={list.error} onRetry={list.reload} />;
  const entries = list.value?.entries ?? [];
  return (
    <ul className="nav file-tree">
      {entries.slice(0, MOST).map(({ name, type }) => {
        const path = folder === "." ? name : `${folder}/${name}`;
        return type === "directory" ? (
          <Folder key={name} name={name} path={path} {...tree} />
        ) : (
          <li key={name}>
            <button
              type="button"
              aria-current={path === tree.file ? "page" : undefined}
              onClick={() => tree.onOpen(path)}
            >
              <Icon name="file" />
              <span className="truncate">{name}</span>
            </button>
          </li>
        );
      })}
      {entries.length > MOST && <li className="hint">{entries.length - MOST} more entries</li>}
      {list.value && entries.length === 0 && <li className="hint">empty</li>}
    </ul>
  );
}

function Folder({ name, path, ...tree }: TreeProps & { name: string; path: string }): ReactNode {
  const [open, setOpen] = useState(tree.file?.startsWith(`${path}/`) ?? false);
  return (
    <li>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="folder" />
        <span className="truncate">{name}</span>
      </button>
      {open && <FileTree folder={path} {...tree} />}
    </li>
  );
}
