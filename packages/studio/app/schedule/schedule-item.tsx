import type { ScheduleInfo } from "@selvedge/protocol/routes";
import { type ReactNode, useState } from "react";
import { Link } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge } from "../ui/badge.tsx";
import { Button } from "../ui/button.tsx";
import { Icon } from "../ui/icon.tsx";
import { Failure } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useAttempt } from "../use-attempt.ts";
import { workflowPath } from "../workflow/workflow-path.ts";
import { TriggerList } from "./trigger-list.tsx";

/** A schedule: what it starts, when next, and its history. */
export function ScheduleItem({
  schedule,
  onChanged,
}: {
  schedule: ScheduleInfo;
  onChanged(): void;
}): ReactNode {
  const { client } = useStudio();
  const { busy, error, attempt } = useAttempt();
  const [open, setOpen] = useState(false);
  const { id, cron, timezone, status, nextFireAt, lastFireAt } = schedule;
  const isPaused = status === "paused";
  const change = async (act: () => Promise<unknown>): Promise<void> => {
    if (await attempt(act)) onChanged();
  };
  const to = { params: { scheduleId: id } };
  return (
    <li className="schedule" data-testid="schedule">
      <div className="row">
        <div className="grow">
          <div className="row">
            <strong className="truncate">{id}</strong>
            {isPaused ? (
              <Badge tone="amber">
                <Icon name="pause" />
                paused
              </Badge>
            ) : (
              <Badge tone="green">
                <Icon name="check" />
                active
              </Badge>
            )}
            {schedule.declared && <Badge title="Declared with the workflow">in code</Badge>}
          </div>
          <p className="row small muted">
            <Target schedule={schedule} />
            <span className="mono">{cron}</span>
            {timezone && <span>{timezone}</span>}
          </p>
          <p className="small">
            <span className="muted">next </span>
            {nextFireAt === undefined ? "none" : <At time={nextFireAt} />}
            {lastFireAt !== undefined && (
              <>
                <span className="muted"> · last </span>
                <At time={lastFireAt} />
              </>
            )}
          </p>
        </div>
        <div className="row">
          {isPaused ? (
            <Button
              size="small"
              icon="run"
              disabled={busy}
              aria-label={`Resume ${id}`}
              onClick={() => void change(() => client.call("resumeSchedule", to))}
            >
              Resume
            </Button>
          ) : (
            <Button
              size="small"
              icon="pause"
              disabled={busy}
              aria-label={`Pause ${id}`}
              onClick={() => void change(() => client.call("pauseSchedule", to))}
            >
              Pause
            </Button>
          )}
          <Button
            size="small"
            icon="next"
            disabled={busy}
            aria-label={`Run ${id} now`}
            onClick={() => void change(() => client.call("runSchedule", to)).then(() => setOpen(true))}
          >
            Run now
          </Button>
          <Button
            kind="quiet"
            size="small"
            icon={open ? "up" : "down"}
            aria-label={`History of ${id}`}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            History
          </Button>
        </div>
      </div>
      {error && <Failure error={error} />}
      {open && <TriggerList schedule={schedule} />}
    </li>
  );
}

function Target({ schedule: { workflowId, agentId, threadId } }: { schedule: ScheduleInfo }): ReactNode {
  if (workflowId !== undefined) {
    return (
      <Link className="row" href={workflowPath(workflowId)}>
        <Icon name="workflow" />
        {workflowId}
      </Link>
    );
  }
  return (
    <span className="row">
      <Icon name="agent" />
      {agentId}
      {threadId !== undefined && ` on ${threadId}`}
    </span>
  );
}

/** How far away, and exactly when in the title. */
function At({ time }: { time: number }): ReactNode {
  return <Time at={new Date(time).toISOString()} ago />;
}
