import { type ReactNode, useEffect, useState } from "react";
import { useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Button } from "../ui/button.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { toError, useLoad } from "../use-load.ts";
import { sessionPath, startSession } from "./start-session.ts";

/** A thread on which a controller works is shown in its session: there it has a mode, rules and a queue. */
export function ThreadOfSession({
  controllerId,
  threadId,
}: {
  controllerId: string;
  threadId: string;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const { go } = useRouter();
  const [error, setError] = useState<Error>();
  const sessions = useLoad(`${controllerId} ${resourceId}`, () =>
    client.getAgentController(controllerId).listSessions({ resourceId }),
  );
  const found = sessions.value?.find((session) => session.threadId === threadId)?.id;
  useEffect(() => {
    if (found !== undefined) go(sessionPath(controllerId, found), { replace: true });
  }, [found, controllerId, go]);
  const open = (): void => {
    startSession(client, { controllerId, resourceId, threadId }).then(
      (href) => go(href, { replace: true }),
      (failure: unknown) => setError(toError(failure)),
    );
  };
  const failure = error ?? sessions.error;
  if (failure)
    return (
      <div className="page">
        <Failure error={failure} onRetry={sessions.reload} />
      </div>
    );
  if (!sessions.value || found !== undefined) return <Loading what="the session" />;
  return (
    <Empty title="This thread belongs to a session">
      <p>The session has moved to another thread. Open a new session to continue here.</p>
      <Button kind="primary" icon="session" onClick={open}>
        Open a session
      </Button>
    </Empty>
  );
}
