import { type ReactNode, useEffect } from "react";
import { useStudio } from "../studio-context.tsx";
import { Empty, Failure, Loading } from "../ui/state.tsx";
import { useLoad } from "../use-load.ts";
import { ScheduleItem } from "./schedule-item.tsx";

const REFRESH_MS = 5000;

/** The schedules of the server, or those of one workflow. */
export function ScheduleList({
  workflowId,
  empty,
}: {
  workflowId?: string;
  /** What to show when there are none. */
  empty: ReactNode;
}): ReactNode {
  const { client, resourceId } = useStudio();
  const schedules = useLoad(`schedules ${workflowId}`, (signal) =>
    client.call("listSchedules", { query: { ...(workflowId && { workflowId }) }, signal }),
  );
  const { value, reload } = schedules;
  // Those of the app have no owner.
  const shown = value?.schedules.filter(({ resourceId: owner = resourceId }) => owner === resourceId);
  useEffect(() => {
    const timer = setInterval(reload, REFRESH_MS);
    return () => clearInterval(timer);
  }, [reload]);
  return (
    <>
      {schedules.error && <Failure error={schedules.error} onRetry={reload} />}
      {!value && schedules.loading && <Loading what="schedules" />}
      {shown?.length === 0 && empty}
      {shown && shown.length > 0 && (
        <ul className="card thread-list" aria-label="Schedules">
          {shown.map((schedule) => (
            <ScheduleItem key={schedule.id} schedule={schedule} onChanged={reload} />
          ))}
        </ul>
      )}
    </>
  );
}

/** What a page says that has no schedules. */
export function NoSchedules(): ReactNode {
  return (
    <Empty title="No schedules">
      <p>
        Declare one with a workflow, <code>createWorkflow({"{ schedule: { cron } }"})</code>, or create one
        with <code>mastra.schedules</code>.
      </p>
    </Empty>
  );
}
