import type { UseAgentControllerResult } from "@selvedge/react";
import type { ReactNode } from "react";
import { Icon } from "../ui/icon.tsx";

type Task = UseAgentControllerResult["display"]["tasks"][number];

const SPOKEN: Record<Task["status"], string> = {
  pending: "to do",
  in_progress: "in progress",
  completed: "done",
};

/** What the agent has set out to do, and how far it is. */
export function TaskList({ tasks }: { tasks: readonly Task[] }): ReactNode {
  return (
    <ul className="tasks" aria-label="Tasks">
      {tasks.map(({ id, content, activeForm, status }) => (
        <li key={id} data-status={status}>
          <span className="task-mark" aria-hidden="true">
            {status === "completed" && <Icon name="check" />}
          </span>
          <span>{status === "in_progress" ? activeForm || content : content}</span>
          <span className="visually-hidden">({SPOKEN[status]})</span>
        </li>
      ))}
    </ul>
  );
}
