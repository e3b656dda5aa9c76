import type { ReactNode } from "react";
import { NoSchedules, ScheduleList } from "../schedule/schedule-list.tsx";
import { useStudio } from "../studio-context.tsx";

/** What starts by the clock. */
export function SchedulesPage(): ReactNode {
  const { resourceId } = useStudio();
  return (
    <div className="page">
      <div className="page-head">
        <div>
          <h1>Schedules</h1>
          <p>
            Workflows and agents that start at fixed times: schedules of the app and of{" "}
            <code>{resourceId}</code>
          </p>
        </div>
      </div>
      <ScheduleList empty={<NoSchedules />} />
    </div>
  );
}
