import type { UseThreadResult as Thread } from "@selvedge/react";
import type { ReactNode } from "react";
import { formatValue } from "../format.ts";
import { Badge } from "../ui/badge.tsx";
import { Section } from "../ui/section.tsx";
import { Time } from "../ui/time.tsx";
import { ApprovalForm } from "./approval-form.tsx";
import { EventForm } from "./event-form.tsx";
import { InboxList } from "./inbox-list.tsx";
import { MemoryPanel } from "../memory/memory-panel.tsx";
import type { ThreadMemory } from "../memory/use-memory.ts";
import { toText } from "./queue-list.tsx";
import { RecentRuns } from "./recent-runs.tsx";
import type { Inbox } from "./use-inbox.ts";

/** What a thread carries besides its messages. Parts that are empty take one line. */
export function Inspector({
  open,
  thread,
  agentId,
  threadId,
  inbox,
  memory,
}: {
  open: boolean;
  thread: Thread;
  agentId: string;
  threadId: string;
  inbox: Inbox;
  memory: ThreadMemory;
}): ReactNode {
  const { approvals, queue, lanes, run } = thread;
  const unread = inbox.notifications.filter(({ status }) => status === "pending").length;
  const listed = inbox.notifications.filter(
    ({ status }) => status !== "archived" && status !== "dismissed",
  ).length;
  const spoken = thread.messages.length > 0;
  return (
    <aside className="inspector" id="inspector" aria-label="Thread details" hidden={!open}>
      <Section icon="run" title="Runs" nothing={spoken || run ? undefined : "none yet"}>
        <RecentRuns run={run} agentId={agentId} threadId={threadId} />
      </Section>
      <Section
        icon="check"
        title="Approvals"
        count={approvals.length}
        nothing={approvals.length === 0 ? "none waiting" : undefined}
        urgent
      >
        {approvals.map((approval) => (
          <div className="stack lane" key={approval.toolCallId}>
            <span className="mono small">{approval.toolName}</span>
            <pre className="code">{formatValue(approval.args)}</pre>
            <ApprovalForm approval={approval} />
          </div>
        ))}
      </Section>
      <MemoryPanel memory={memory} />
      <Section
        icon="queue"
        title="Mailbox"
        count={queue.length}
        nothing={queue.length === 0 ? "empty" : undefined}
      >
        {queue.map((message) => (
          <div className="row lane" key={message.id}>
            <span className="grow truncate small">{toText(message)}</span>
            <Badge tone={message.due === "now" ? "indigo" : undefined}>
              {message.due === "now" ? "joins the run" : "next turn"}
            </Badge>
          </div>
        ))}
      </Section>
      <Section
        icon="lane"
        title="State lanes"
        count={lanes.length}
        nothing={lanes.length === 0 ? "none" : undefined}
      >
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
      <Section
        icon="bell"
        title="Inbox"
        count={unread}
        nothing={listed === 0 && !inbox.error ? "empty" : undefined}
      >
        <InboxList inbox={inbox} />
      </Section>
      <Section icon="signal" title="Send an event">
        <EventForm agentId={agentId} threadId={threadId} onSent={inbox.reload} />
      </Section>
    </aside>
  );
}
