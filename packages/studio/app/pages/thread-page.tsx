import type { NumberedChunk } from "@selvedge/protocol/routes";
import { useThread } from "@selvedge/react";
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from "react";
import { ChunkOfMessageContext, useChunkOfMessage } from "../memory/chunk-of-message.ts";
import { useMemory, useMemoryVersion } from "../memory/use-memory.ts";
import { usePageTitle } from "../page-title.ts";
import { ThreadOfSession } from "../session/thread-of-session.tsx";
import { isFreshPlace, Link, path, settlePlace, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { ActionError, ThreadActionsProvider } from "../thread/actions.tsx";
import { Composer } from "../thread/composer.tsx";
import { ConnectionBadge } from "../thread/connection-badge.tsx";
import { Conversation } from "../thread/conversation.tsx";
import { DropZone } from "../thread/drop-zone.tsx";
import { Inspector } from "../thread/inspector.tsx";
import { ShellOutput, ShellOutputContext } from "../thread/shell-output.ts";
import { ThreadTitle } from "../thread/thread-title.tsx";
import { usePanel } from "../thread/use-panel.ts";
import { useDraft } from "../thread/use-draft.ts";
import { useInbox } from "../thread/use-inbox.ts";
import { useThreadAgent } from "../thread/use-thread-agent.ts";
import { useTitle } from "../thread/use-title.ts";
import { Welcome } from "../thread/welcome.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { type ListedAgent } from "../use-agents.ts";

/** Everything that goes on on a thread, live, and every way to take part in it. */
export function ThreadPage({ threadId }: { threadId: string }): ReactNode {
  const { query } = useRouter();
  const agentId = query.get("agent") ?? undefined;
  const agent = useThreadAgent(threadId, agentId);
  if (agent.error) return <Problem error={agent.error} onRetry={agent.reload} />;
  if (agent.loading && !agent.value) return <Loading what="the thread" />;
  if (agent.controllerId !== undefined)
    return <ThreadOfSession controllerId={agent.controllerId} threadId={threadId} />;
  if (!agent.value) {
    return (
      <Empty title="No agent to talk to">
        <p>This server has no agent with memory.</p>
      </Empty>
    );
  }
  return <LiveThread key={agent.value.id} threadId={threadId} agent={agent.value} />;
}

function LiveThread({ threadId, agent }: { threadId: string; agent: ListedAgent }): ReactNode {
  const { client, resourceId, noteThreads } = useStudio();
  const [isNew] = useState(isFreshPlace);
  const inbox = useInbox(threadId, agent.id, isNew);
  const [memoryVersion, noticeMemory] = useMemoryVersion();
  const [shell] = useState(() => new ShellOutput());
  const noticeInbox = inbox.noticeChunk;
  const noticeChunk = useCallback(
    (chunk: NumberedChunk) => {
      noticeInbox(chunk);
      noticeMemory(chunk);
      shell.take(chunk);
    },
    [noticeInbox, noticeMemory, shell],
  );
  const options = useMemo(
    () => ({ client, agentId: agent.id, threadId, resourceId, onChunk: noticeChunk, isNew }),
    [client, agent.id, threadId, resourceId, noticeChunk, isNew],
  );
  const thread = useThread(options);
  const spoken = thread.messages.some(({ state }) => state !== "sending" && state !== "failed");
  const memory = useMemory(spoken ? threadId : undefined, agent.id, `${spoken} ${memoryVersion}`);
  const chunkOf = useChunkOfMessage(thread.messages, memory.view?.chunks, threadId);
  const [title, setTitle] = useTitle(threadId, agent.id, spoken, thread.run !== undefined);
  const draft = useDraft();
  const box = useRef<HTMLTextAreaElement>(null);
  const focusComposer = useCallback(() => box.current?.focus({ preventScroll: true }), []);
  useEffect(() => {
    if (!spoken) return;
    settlePlace();
    noteThreads();
  }, [spoken, title, noteThreads]);
  const [panel, setPanel] = usePanel();
  const waiting = thread.approvals.length;
  usePageTitle(`${waiting > 0 ? "(!) " : ""}${title ?? (spoken ? "Untitled" : "New thread")}`);
  const togglePanel = useCallback(() => setPanel((open) => !open), []);

  if (thread.status === "error")
    return <Problem error={thread.error!} onRetry={() => void thread.refresh()} />;
  return (
    <ThreadActionsProvider thread={thread} focusComposer={focusComposer}>
      <DropZone className="thread-page" onDrop={draft.attach}>
        <div className="thread-head">
          <div className="grow">
            <ThreadTitle
              threadId={threadId}
              agentId={agent.id}
              title={title}
              spoken={spoken}
              onRenamed={setTitle}
            />
            <p className="row thread-sub">
              <span className="row">
                <Icon name="agent" />
                {agent.name}
              </span>
              <span className="mono truncate wide-only">{threadId}</span>
            </p>
          </div>
          <div className="row thread-badges" aria-live="polite">
            <ConnectionBadge connection={thread.connection} />
            {thread.run && <RunBadge state={thread.run.state} />}
            {waiting > 0 && (
              <Badge tone="amber">{waiting === 1 ? "1 approval" : `${waiting} approvals`}</Badge>
            )}
          </div>
          <Link
            className="button"
            data-size="small"
            aria-label="Runs"
            href={path(["threads", threadId, "runs"], { agent: agent.id })}
          >
            <Icon name="clock" />
            <span className="wide-only">Runs</span>
          </Link>
          <Button
            size="small"
            icon="panel"
            label={panel ? "Hide thread details" : "Show thread details"}
            aria-expanded={panel}
            aria-controls="inspector"
            onClick={togglePanel}
          />
        </div>
        <ChunkOfMessageContext value={chunkOf}>
          <ShellOutputContext value={shell}>
            <Conversation thread={thread} agentName={agent.name} welcome={<Welcome agent={agent} />} />
          </ShellOutputContext>
        </ChunkOfMessageContext>
        <div className="thread-foot">
          <ActionError />
          <Composer thread={thread} agentName={agent.name} draft={draft} box={box} />
        </div>
        <Inspector
          open={panel}
          thread={thread}
          agentId={agent.id}
          threadId={threadId}
          inbox={inbox}
          memory={memory}
        />
      </DropZone>
    </ThreadActionsProvider>
  );
}

function Problem({ error, onRetry }: { error: Error; onRetry(): void }): ReactNode {
  return (
    <div className="page">
      <Failure error={error} onRetry={onRetry} />
    </div>
  );
}
