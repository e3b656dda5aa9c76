import { useAgentController } from "@selvedge/react";
import { type ReactNode, useCallback, useEffect, useRef } from "react";
import { formatShort } from "../format.ts";
import { ChunkOfMessageContext, useChunkOfMessage } from "../memory/chunk-of-message.ts";
import { useMemory } from "../memory/use-memory.ts";
import { usePageTitle } from "../page-title.ts";
import { Link, path } from "../router.tsx";
import { SessionControls } from "../session/session-controls.tsx";
import { SessionPanel } from "../session/session-panel.tsx";
import { useSessionThread } from "../session/use-session-thread.ts";
import { useStudio } from "../studio-context.tsx";
import { ActionError, ThreadActionsProvider } from "../thread/actions.tsx";
import { Composer } from "../thread/composer.tsx";
import { ConnectionBadge } from "../thread/connection-badge.tsx";
import { Conversation } from "../thread/conversation.tsx";
import { DropZone } from "../thread/drop-zone.tsx";
import type { Thread } from "../thread/thread.ts";
import { ThreadTitle } from "../thread/thread-title.tsx";
import { usePanel } from "../thread/use-panel.ts";
import { useDraft } from "../thread/use-draft.ts";
import { useTitle } from "../thread/use-title.ts";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";

interface SessionProps {
  controllerId: string;
  sessionId: string;
}

/** A session that exists: to open one that does not would make it. */
export function SessionPage(props: SessionProps): ReactNode {
  const { client } = useStudio();
  const found = useLoad(`${props.controllerId} ${props.sessionId}`, (signal) =>
    client.call("getSession", { params: { ...props }, signal }),
  );
  if (found.value) return <LiveSession {...props} />;
  if (!found.error) return <Loading what="the session" />;
  if ((found.error as { code?: string }).code !== "not-found")
    return (
      <div className="page">
        <Failure error={found.error} onRetry={found.reload} />
      </div>
    );
  return (
    <Empty title="There is no such session">
      <p>It was deleted, or it belongs to another resource.</p>
      <Link href="/sessions">Go to the sessions</Link>
    </Empty>
  );
}

/** A session, live: the conversation, what it asks, and everything that decides what it may do. */
function LiveSession({ controllerId, sessionId }: SessionProps): ReactNode {
  const { client, resourceId } = useStudio();
  const live = useAgentController({ client, controllerId, sessionId, resourceId });
  const thread = useSessionThread(live);
  const { threadId } = live;
  const spoken = thread.messages.length > 0;
  const draft = useDraft();
  const box = useRef<HTMLTextAreaElement>(null);
  const focusComposer = useCallback(() => box.current?.focus({ preventScroll: true }), []);
  const [panel, setPanel] = usePanel();
  const { omProgress, bufferingMessages, bufferingObservations } = live.display;
  const memory = useMemory(
    spoken ? (threadId ?? undefined) : undefined,
    undefined,
    JSON.stringify([spoken, omProgress, bufferingMessages, bufferingObservations]),
  );
  const chunkOf = useChunkOfMessage(thread.messages, memory.view?.chunks, threadId ?? "");
  const waiting = thread.approvals.length;
  if (thread.status === "error")
    return (
      <div className="page">
        <Failure error={thread.error!} onRetry={() => location.reload()} />
      </div>
    );
  return (
    <ThreadActionsProvider thread={thread} focusComposer={focusComposer}>
      <DropZone className="thread-page" onDrop={draft.attach}>
        <div className="thread-head">
          <div className="grow">
            <SessionTitle
              key={threadId}
              threadId={threadId ?? ""}
              spoken={spoken}
              running={thread.run !== undefined}
              waiting={waiting > 0}
              firstWords={firstWords(thread)}
            />
            <p className="row thread-sub">
              <span className="row">
                <Icon name="session" />
                {controllerId}
              </span>
              <span className="mono truncate wide-only">{sessionId}</span>
            </p>
          </div>
          <div className="row thread-badges" aria-live="polite">
            <ConnectionBadge connection={thread.connection} />
            {thread.run && <RunBadge state={thread.run.state} />}
            {waiting > 0 && (
              <Badge tone="amber">{waiting === 1 ? "1 question" : `${waiting} questions`}</Badge>
            )}
          </div>
          <SessionControls controllerId={controllerId} live={live} />
          {threadId !== null && (
            <Link
              className="button"
              data-size="small"
              aria-label="Runs"
              href={path(["threads", threadId, "runs"])}
            >
              <Icon name="clock" />
              <span className="wide-only">Runs</span>
            </Link>
          )}
          <Button
            size="small"
            icon="panel"
            label={panel ? "Hide session details" : "Show session details"}
            aria-expanded={panel}
            aria-controls="inspector"
            onClick={() => setPanel((open) => !open)}
          />
        </div>
        <ChunkOfMessageContext value={chunkOf}>
          <Conversation
            key={threadId}
            thread={thread}
            agentName={controllerId}
            welcome={
              <Empty title={`Talk to ${controllerId}`}>
                <p>
                  Open this page in a second window, or the session in a terminal: all of them show the same,
                  and you can answer in any of them.
                </p>
              </Empty>
            }
          />
        </ChunkOfMessageContext>
        <div className="thread-foot">
          <ActionError />
          <Composer thread={thread} agentName={controllerId} draft={draft} box={box} />
        </div>
        <SessionPanel open={panel} live={live} memory={memory} />
      </DropZone>
    </ThreadActionsProvider>
  );
}

const SHORT = 60;

/** What the conversation began with, as far as it is loaded. */
function firstWords({ messages }: Thread): string | undefined {
  const first = messages.find(({ role }) => role === "user")?.parts.find((part) => part.type === "text");
  return first && formatShort(first.text, SHORT);
}

function SessionTitle({
  threadId,
  spoken,
  running,
  waiting,
  firstWords: words = "Untitled",
}: {
  threadId: string;
  spoken: boolean;
  running: boolean;
  waiting: boolean;
  firstWords: string | undefined;
}): ReactNode {
  const [given, setTitle] = useTitle(threadId, undefined, spoken, running);
  // A model names a thread after its first run, and a run may wait for long.
  const title = given ?? (spoken ? words : "New session");
  const { noteThreads } = useStudio();
  useEffect(() => {
    if (spoken) noteThreads();
  }, [spoken, given, noteThreads]);
  usePageTitle(`${waiting ? "(!) " : ""}${title}`);
  return <ThreadTitle threadId={threadId} title={title} spoken={spoken} onRenamed={setTitle} />;
}
