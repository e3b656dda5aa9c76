import type { UseThreadResult as Thread } from "@selvedge/react";
import type { ReactNode } from "react";
import { formatValue } from "../format.ts";
import { path, Link } from "../router.tsx";
import { Badge } from "../ui/badge.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import { RunBadge } from "../ui/run-badge.tsx";
import { Time } from "../ui/time.tsx";
import { ApprovalForm } from "./approval-form.tsx";
import { EventForm } from "./event-form.tsx";
import { InboxList } from "./inbox-list.tsx";
import { toText } from "./queue-list.tsx";
import type { Inbox } from "./use-inbox.ts";

/** What a thread carries besides its messages. */
export function Inspector({
  open,
  thread,
  agentId,
  threadId,
  inbox,
}: {
  open: boolean;
  thread: Thread;
  agentId: string;
  threadId: string;
  inbox: Inbox;
}): ReactNode {
  const { run, approvals, queue, lanes } = thread;
  const unread = inbox.notifications.filter(({ status }) => status === "pending").length;
  return (
    <aside className="inspector" id="inspector" aria-label="What the thread carries" hidden={!open}>
      <Section icon="run" title="Run">
        {run ? (
          <div className="row">
            <RunBadge state={run.state} />
            <Link
              className="mono small truncate grow"
              href={path(["threads", threadId, "runs", run.runId], { agent: agentId })}
            >
              {run.runId}
            </Link>
          </div>
        ) : (
          <Nothing>Idle. A message wakes the agent.</Nothing>
        )}
      </Section>
      <Section icon="check" title="Approvals" count={approvals.length} urgent>
        {approvals.length === 0 && <Nothing>No tool call waits for a person.</Nothing>}
        {approvals.map((approval) => (
          <div className="stack lane" key={approval.toolCallId}>
            <span className="mono small">{approval.toolName}</span>
            <pre className="code">{formatValue(approval.args)}</pre>
            <ApprovalForm approval={approval} />
          </div>
        ))}
      </Section>
      <Section icon="queue" title="Mailbox" count={queue.length}>
        {queue.length === 0 && <Nothing>Nothing waits.</Nothing>}
        {queue.map((message) => (
          <div className="row lane" key={message.id}>
            <span className="grow truncate small">{toText(message)}</span>
            <Badge tone={message.due === "now" ? "indigo" : undefined}>
              {message.due === "now" ? "joins the run" : "next turn"}
            </Badge>
          </div>
        ))}
      </Section>
      <Section icon="lane" title="State lanes" count={lanes.length}>
        {lanes.length === 0 && <Nothing>No state was told to this thread.</Nothing>}
        {lanes.map((lane) => (
          <details className="lane" key={lane.id}>
            <summary className="row">
              <span className="mono small grow">{lane.id}</span>
              <Badge>
                {lane.mode} · v{lane.version}
              </Badge>
            </summary>
            <p className="hint">
              <Time at={lane.updatedAt} ago />
            </p>
            <pre className="code">{formatValue(lane.value ?? lane.contents ?? lane.cacheKey)}</pre>
          </details>
        ))}
      </Section>
      <Section icon="bell" title="Inbox" count={unread}>
        <InboxList inbox={inbox} />
      </Section>
      <Section icon="signal" title="Send an event">
        <EventForm agentId={agentId} threadId={threadId} onSent={inbox.reload} />
      </Section>
    </aside>
  );
}

function Section({
  icon,
  title,
  count,
  urgent,
  children,
}: {
  icon: IconName;
  title: string;
  count?: number;
  urgent?: boolean;
  children: ReactNode;
}): ReactNode {
  return (
    <details className="inspector-section" open>
      <summary className="row">
        <Icon name={icon} />
        <h2 className="grow">{title}</h2>
        {count !== undefined && count > 0 && <Badge tone={urgent ? "amber" : "indigo"}>{count}</Badge>}
      </summary>
      <div className="stack">{children}</div>
    </details>
  );
}

function Nothing({ children }: { children: ReactNode }): ReactNode {
  return <p className="hint">{children}</p>;
}
