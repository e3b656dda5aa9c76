import { TASK_MARKS, type TaskItemSnapshot, type TaskStatus } from "@selvedge/protocol/session";

/** A task as a model writes it. */
export interface TaskItemInput {
  id?: string | undefined;
  content: string;
  status: TaskStatus;
  /** Shown while it is in progress. */
  activeForm: string;
}

export interface TaskItem extends TaskItemInput {
  id: string;
}

interface TaskSummary {
  total: number;
  completed: number;
  inProgress: number;
  pending: number;
  incomplete: number;
  hasTasks: boolean;
  allCompleted: boolean;
}

export interface TaskCheckResult {
  content: string;
  tasks: TaskItemSnapshot[];
  summary: TaskSummary;
  incompleteTasks: TaskItemSnapshot[];
  isError: boolean;
}

const MAX_SLUG = 48;

/**
 * A list with an id for every task. Ids from the model take precedence. A task without one keeps the id of the only
 * earlier task with the same content, or gets one derived from its content.
 */
export function assignTaskIds(
  tasks: readonly TaskItemInput[],
  previous: readonly TaskItemSnapshot[] = [],
): TaskItem[] {
  const used = new Set<string>();
  const explicit = tasks.map(({ id }) => {
    if (id === undefined || id === "" || used.has(id)) return undefined;
    used.add(id);
    return id;
  });
  return tasks.map((task, index) => {
    const id = explicit[index] ?? reusable(task, tasks, previous, used) ?? freshId(task.content, used);
    used.add(id);
    return { id, content: task.content, status: task.status, activeForm: task.activeForm };
  });
}

/** At most one task is in progress: the last one marked so, or the named one. The others wait again. */
export function keepOneInProgress(tasks: readonly TaskItem[], id?: string): TaskItem[] {
  const current = id ?? tasks.findLast((task) => task.status === "in_progress")?.id;
  return tasks.map((task) =>
    task.status === "in_progress" && task.id !== current ? { ...task, status: "pending" } : task,
  );
}

function summarizeTasks(tasks: readonly TaskItemSnapshot[]): TaskSummary {
  const count = (status: TaskStatus) => tasks.filter((task) => task.status === status).length;
  const [completed, inProgress, pending] = [count("completed"), count("in_progress"), count("pending")];
  return {
    total: tasks.length,
    completed,
    inProgress,
    pending,
    incomplete: inProgress + pending,
    hasTasks: tasks.length > 0,
    allCompleted: tasks.length > 0 && completed === tasks.length,
  };
}

export function summarizeTaskCheck(tasks: readonly TaskItemSnapshot[]): TaskCheckResult {
  const summary = summarizeTasks(tasks);
  const incompleteTasks = tasks.filter((task) => task.status !== "completed");
  const content = !summary.hasTasks
    ? "There is no task list."
    : summary.allCompleted
      ? `All ${summary.total} tasks are completed.`
      : `${summary.completed} of ${summary.total} tasks are completed. Left: ${incompleteTasks.map(describe).join("; ")}.`;
  return { content, tasks: [...tasks], summary, incompleteTasks, isError: false };
}

/** The list as a model reads it. */
export function renderTasks(tasks: readonly TaskItemSnapshot[]): string {
  if (tasks.length === 0) return "No tasks.";
  return tasks.map((task) => `- [${TASK_MARKS[task.status]}] ${describe(task)}`).join("\n");
}

function describe({ id, content }: TaskItemSnapshot): string {
  return `${content} (${id})`;
}

function reusable(
  { content }: TaskItemInput,
  tasks: readonly TaskItemInput[],
  previous: readonly TaskItemSnapshot[],
  used: ReadonlySet<string>,
): string | undefined {
  const [match, another] = previous.filter((task) => task.content === content);
  const isOnly = tasks.filter((task) => task.content === content).length === 1;
  return match && !another && isOnly && !used.has(match.id) ? match.id : undefined;
}

function freshId(content: string, used: ReadonlySet<string>): string {
  const slug = content
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .slice(0, MAX_SLUG)
    .replaceAll(/^_+|_+$/g, "");
  const base = `task_${slug || "item"}`;
  let id = base;
  for (let count = 2; used.has(id); count++) id = `${base}_${count}`;
  return id;
}
