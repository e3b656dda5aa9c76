export type TaskStatus = "pending" | "in_progress" | "completed";

/** A task as stored and shown. */
export interface TaskItemSnapshot {
  id: string;
  content: string;
  status: TaskStatus;
  /** Shown while it is in progress. */
  activeForm: string;
}

/** A task in a list for a model, by its status. */
export const TASK_MARKS: Readonly<Record<TaskStatus, string>> = {
  pending: " ",
  in_progress: "~",
  completed: "x",
};

/** Reads external tasks; anything invalid is left out. */
export function readTasks(value: unknown): TaskItemSnapshot[] {
  return Array.isArray(value) ? value.filter(isTask) : [];
}

function isTask(task: unknown): task is TaskItemSnapshot {
  const { id, content, status } = Object(task) as Partial<TaskItemSnapshot>;
  return typeof id === "string" && typeof content === "string" && Object.hasOwn(TASK_MARKS, String(status));
}
