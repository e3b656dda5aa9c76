import type { WireThread } from "@selvedge/protocol/routes";
import { type ReactNode, useDeferredValue, useState } from "react";
import { threadPath } from "../new-thread.ts";
import { Link } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { NewThreadButton } from "../ui/new-thread-button.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDelete } from "../ui/confirm-delete.tsx";
import { Icon } from "../ui/icon.tsx";
import { RenameForm } from "../ui/rename-form.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { MessageHits } from "./message-hits.tsx";

const PAGE_SIZE = 25;

export function ThreadsPage(): ReactNode {
  const { client, resourceId } = useStudio();
  const [search, setSearch] = useState("");
  const [page, setPage] = useState(0);
  const wanted = useDeferredValue(search.trim());
  const threads = useLoad(`${resourceId} ${wanted} ${page}`, (signal) =>
    client.call("listThreads", {
      query: { resourceId, page, perPage: PAGE_SIZE, ...(wanted && { search: wanted }) },
      signal,
    }),
  );
  const { value } = threads;
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Threads</h1>
          <p>
            Conversations of <code>{resourceId}</code>, newest first
          </p>
        </div>
        <NewThreadButton />
      </div>
      <div className="search" role="search">
        <Icon name="search" />
        <input
          className="input"
          type="search"
          aria-label="Search threads and messages"
          placeholder="Search titles, ids and messages"
          value={search}
          onChange={(event) => {
            setSearch(event.target.value);
            setPage(0);
          }}
        />
      </div>
      {threads.error && <Failure error={threads.error} onRetry={threads.reload} />}
      {!value && threads.loading && <Loading what="threads" />}
      {value && value.threads.length > 0 && (
        <ul className="card thread-list" aria-label="Threads">
          {value.threads.map((thread) => (
            <ThreadItem key={thread.id} thread={thread} onChanged={threads.reload} />
          ))}
        </ul>
      )}
      {value && value.threads.length === 0 && !wanted && (
        <Empty title="No threads yet">
          <p>A thread is a stored conversation. Start one and send a message.</p>
          <NewThreadButton />
        </Empty>
      )}
      {value && value.threads.length === 0 && wanted && (
        <p className="muted small">No title or id contains “{wanted}”.</p>
      )}
      {value && (page > 0 || value.hasMore) && (
        <nav className="row pager" aria-label="Pages of threads">
          <Button size="small" disabled={page === 0} onClick={() => setPage(page - 1)}>
            Newer
          </Button>
          <span className="muted small">
            {page * PAGE_SIZE + 1}–{page * PAGE_SIZE + value.threads.length} of {value.total}
          </span>
          <Button size="small" disabled={!value.hasMore} onClick={() => setPage(page + 1)}>
            Older
          </Button>
        </nav>
      )}
      {wanted.length > 1 && <MessageHits search={wanted} />}
    </div>
  );
}

function ThreadItem({ thread, onChanged }: { thread: WireThread; onChanged(): void }): ReactNode {
  const { client, resourceId, noteThreads } = useStudio();
  const [renaming, setRenaming] = useState(false);
  const remove = async (): Promise<void> => {
    await client.call("deleteThread", { params: { threadId: thread.id }, query: { resourceId } });
    noteThreads();
    onChanged();
    document.querySelector<HTMLElement>("#main input")?.focus();
  };
  if (renaming) {
    return (
      <li className="thread-item">
        <RenameForm
          threadId={thread.id}
          title={thread.title ?? ""}
          onDone={(name) => {
            setRenaming(false);
            if (name !== undefined) onChanged();
          }}
        />
      </li>
    );
  }
  return (
    <li className="thread-item">
      <Link className="thread-link" href={threadPath(thread.id, undefined)}>
        <span className="truncate thread-title">{thread.title || "Untitled"}</span>
        <span className="truncate mono muted thread-id">{thread.id}</span>
      </Link>
      <span className="muted small">
        <Time at={thread.updatedAt} ago />
      </span>
      <span className="row">
        <Button
          kind="quiet"
          size="small"
          icon="edit"
          label={`Rename ${thread.title || "thread"}`}
          onClick={() => setRenaming(true)}
        />
        <ConfirmDelete label={`Delete ${thread.title || "thread"}`} onDelete={remove} />
      </span>
    </li>
  );
}
