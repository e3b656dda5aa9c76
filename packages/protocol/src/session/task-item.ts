export type TaskStatus = "pending" | "in_progress" | "completed";

/** A task as it is stored and shown. */
export interface TaskItemSnapshot {
  id: string;
  content: string;
  status: TaskStatus;
  /** What is shown while it is being done. */
  activeForm: string;
}

/** A task in a list for a model, by how far it is. */
export const TASK_MARKS: Readonly<Record<TaskStatus, string>> = {
  pending: " ",
  in_progress: "~",
  completed: "x",
};

/** Tasks from outside; anything that is none is left out. */
export function readTasks(value: unknown): TaskItemSnapshot[] {
  return Array.isArray(value) ? value.filter(isTask) : [];
}

function isTask(task: unknown): task is TaskItemSnapshot {
  const { id, content, status } = Object(task) as Partial<TaskItemSnapshot>;
  return typeof id === "string" && typeof content === "string" && Object.hasOwn(TASK_MARKS, String(status));
}
