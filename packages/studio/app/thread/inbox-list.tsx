import type { WireNotification } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Failure } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useActions } from "./actions.tsx";
import type { Inbox } from "./use-inbox.ts";

const PRIORITY_TONE: Record<WireNotification["priority"], Tone | undefined> = {
  urgent: "red",
  high: "amber",
  medium: "indigo",
  low: undefined,
};

export function InboxList({ inbox }: { inbox: Inbox }): ReactNode {
  const { attempt } = useActions();
  if (inbox.error) return <Failure error={inbox.error} onRetry={inbox.reload} />;
  const shown = inbox.notifications.filter(({ status }) => status !== "archived" && status !== "dismissed");
  if (shown.length === 0) return <p className="hint">Empty. Events from outside arrive here.</p>;
  return (
    <ul className="stack">
      {shown.map((record) => (
        <li className="lane" key={record.id} data-testid="notification">
          <div className="row">
            <span className="small grow truncate">
              <b>{record.source}</b> · {record.kind}
            </span>
            <Badge tone={PRIORITY_TONE[record.priority]}>{record.priority}</Badge>
          </div>
          <p className="small">{record.summary}</p>
          <div className="row">
            <span className="hint grow">
              {record.status} · <Time at={record.createdAt} ago />
            </span>
            {record.status === "pending" && (
              <Button
                kind="quiet"
                size="small"
                icon="check"
                label="Mark as seen"
                onClick={() => void attempt(() => inbox.act(record.id, "markSeen"))}
              />
            )}
            <Button
              kind="quiet"
              size="small"
              icon="cross"
              label="Dismiss"
              onClick={() => void attempt(() => inbox.act(record.id, "dismiss"))}
            />
          </div>
        </li>
      ))}
    </ul>
  );
}
