import type { SessionInfo } from "@selvedge/protocol/session";
import { type ReactNode, useState } from "react";
import { Link, useRouter } from "../router.tsx";
import { sessionPath, startSession } from "../session/start-session.ts";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { ConfirmDelete } from "../ui/confirm-delete.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useControllers } from "../use-controllers.ts";
import { toError, useLoad } from "../use-load.ts";

const TITLES = 100;

/** The sessions of the resource that the studio acts as. */
export function SessionsPage(): ReactNode {
  const { client, resourceId } = useStudio();
  const { go } = useRouter();
  const controllers = useControllers();
  const ids = controllers.value ?? [];
  const [error, setError] = useState<Error>();
  const sessions = useLoad(`sessions ${resourceId} ${ids.join()}`, async (signal) => {
    const lists = await Promise.all(
      ids.map((id) => client.getAgentController(id).listSessions({ resourceId })),
    );
    const { threads } = await client.call("listThreads", {
      query: { resourceId, page: 0, perPage: TITLES },
      signal,
    });
    const titles = new Map(threads.map(({ id, title }) => [id, title]));
    return lists.flat().map((session) => ({ session, title: titles.get(session.threadId ?? "") }));
  });
  const start = (controllerId: string): void => {
    startSession(client, { controllerId, resourceId }).then(go, (failure: unknown) =>
      setError(toError(failure)),
    );
  };
  const isEmpty = sessions.value?.length === 0 && !controllers.loading;
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Sessions</h1>
          <p>
            Sessions of <code>{resourceId}</code>, newest first
          </p>
        </div>
        <div className="row">
          {ids.map((id) => (
            <Button key={id} kind="primary" icon="plus" onClick={() => start(id)}>
              {ids.length === 1 ? "New session" : `New session with ${id}`}
            </Button>
          ))}
        </div>
      </div>
      {(error ?? sessions.error ?? controllers.error) && (
        <Failure error={(error ?? sessions.error ?? controllers.error)!} onRetry={sessions.reload} />
      )}
      {!sessions.value && sessions.loading && <Loading what="sessions" />}
      {isEmpty && ids.length === 0 && (
        <Empty title="No controllers">
          <p>
            Register one: <code>new Mastra({"{ agentControllers: { … } }"})</code>
          </p>
        </Empty>
      )}
      {isEmpty && ids.length > 0 && (
        <Empty title="No sessions yet">
          <p>A session is a conversation with modes, rules and a queue. It can be open in several windows.</p>
        </Empty>
      )}
      {sessions.value && sessions.value.length > 0 && (
        <ul className="card thread-list" aria-label="Sessions">
          {sessions.value.map(({ session, title }) => (
            <SessionItem
              key={`${session.controllerId} ${session.id}`}
              session={session}
              title={title}
              onDeleted={sessions.reload}
            />
          ))}
        </ul>
      )}
    </div>
  );
}

function SessionItem({
  session: { controllerId, id, modeId, modelId },
  title,
  onDeleted,
}: {
  session: SessionInfo;
  title: string | undefined;
  onDeleted(): void;
}): ReactNode {
  const { client } = useStudio();
  const name = title || "Untitled";
  const remove = async (): Promise<void> => {
    await client.getAgentController(controllerId).deleteSession({ id });
    onDeleted();
    document.querySelector<HTMLElement>("#main button")?.focus();
  };
  return (
    <li className="thread-item">
      <Link className="thread-link" href={sessionPath(controllerId, id)}>
        <span className="truncate thread-title">{name}</span>
        <span className="truncate mono muted thread-id">
          {controllerId} · {id}
        </span>
      </Link>
      <Badge tone="indigo">{modeId}</Badge>
      {modelId !== "" && <span className="muted small wide-only">{modelId}</span>}
      <ConfirmDelete
        label={`Delete the session ${name}`}
        question="Delete it, keep its thread"
        onDelete={remove}
      />
    </li>
  );
}
