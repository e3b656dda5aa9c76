import type { ScheduleInfo, ScheduleTriggerInfo } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { Link } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { Badge, type Tone } from "../ui/badge.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { Time } from "../ui/time.tsx";
import { useLoad } from "../use-load.ts";
import { runPath } from "../workflow/workflow-path.ts";

const SHOWN = 20;

const TONE: Record<ScheduleTriggerInfo["outcome"], Tone | undefined> = {
  published: "green",
  delivered: "green",
  persisted: "green",
  succeeded: "green",
  running: "indigo",
  failed: "red",
  aborted: "red",
  discarded: undefined,
  skipped: undefined,
};
const WORDS: Partial<Record<ScheduleTriggerInfo["outcome"], string>> = {
  published: "started",
  persisted: "stored",
  succeeded: "done",
  aborted: "stopped",
};

/** When a schedule fired, and what came of it. */
export function TriggerList({ schedule }: { schedule: ScheduleInfo }): ReactNode {
  const { client } = useStudio();
  const { id, workflowId, lastFireAt } = schedule;
  const triggers = useLoad(
    `triggers ${id}`,
    (signal) =>
      client.call("listScheduleTriggers", { params: { scheduleId: id }, query: { limit: SHOWN }, signal }),
    `${lastFireAt} ${schedule.updatedAt}`,
  );
  const list = triggers.value?.triggers;
  return (
    <>
      {triggers.error && <Failure error={triggers.error} onRetry={triggers.reload} />}
      {!list && triggers.loading && <Loading what="the history" />}
      {list?.length === 0 && <p className="hint">It has not fired yet.</p>}
      {list && list.length > 0 && (
        <ol className="triggers" aria-label={`History of ${id}`}>
          {list.map((trigger) => (
            <li className="row small" key={trigger.id}>
              <Badge tone={TONE[trigger.outcome]}>{WORDS[trigger.outcome] ?? trigger.outcome}</Badge>
              <Time at={new Date(trigger.actualFireAt).toISOString()} />
              {trigger.triggerKind === "manual" && <span className="muted">by hand</span>}
              {trigger.runId !== null && workflowId !== undefined && (
                <Link className="mono truncate" href={runPath(workflowId, trigger.runId)}>
                  {trigger.runId}
                </Link>
              )}
              {trigger.error !== undefined && <span className="field-error">{trigger.error}</span>}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
