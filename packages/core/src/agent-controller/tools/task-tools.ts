import { readTasks, type TaskItemSnapshot } from "@selvedge/protocol/session";
import type { JsonSchema } from "../../schema/schema.ts";
import { createTool, type Tool, type ToolExecutionOptions } from "../../tool/tool.ts";
import {
  assignTaskIds,
  keepOneInProgress,
  renderTasks,
  summarizeTaskCheck,
  type TaskItem,
  type TaskItemInput,
} from "../task-list.ts";

/** The key of the task list in a thread's state. */
export const TASK_STATE = "task";

const STATUS = { type: "string", enum: ["pending", "in_progress", "completed"] };
const CONTENT = {
  type: "string",
  minLength: 1,
  maxLength: 2000,
  description: "What is to be done: Fix the login.",
};
const ACTIVE_FORM = {
  type: "string",
  maxLength: 2000,
  description: "The same while it is being done: Fixing the login.",
};
const ID = { type: "string", minLength: 1, maxLength: 200 };
const MAX_TASKS = 500;
const NO_THREAD = {
  content:
    "There is no task list here: tasks belong to a thread, and this run has none. The agent needs memory.",
  tasks: [],
  isError: true,
};

type Result = { content: string; tasks: TaskItemSnapshot[]; isError: boolean };
type TaskTool = Tool<JsonSchema, undefined>;

/** Replaces the whole list. */
export const taskWriteTool: TaskTool = taskTool(
  "task_write",
  "Write the list of tasks you are working on, in place of the one before. Use it for work of three steps or more; keep one task in_progress.",
  {
    type: "object",
    properties: {
      tasks: {
        type: "array",
        maxItems: MAX_TASKS,
        items: {
          type: "object",
          properties: { id: ID, content: CONTENT, status: STATUS, activeForm: ACTIVE_FORM },
          required: ["content", "status", "activeForm"],
        },
      },
    },
    required: ["tasks"],
  },
  ({ tasks }: { tasks: TaskItemInput[] }, before) => keepOneInProgress(assignTaskIds(tasks, before)),
);

/** Changes one task. */
export const taskUpdateTool: TaskTool = taskTool(
  "task_update",
  "Change one task of the list, by its id.",
  {
    type: "object",
    properties: { id: ID, content: CONTENT, status: STATUS, activeForm: ACTIVE_FORM },
    required: ["id"],
    anyOf: [{ required: ["content"] }, { required: ["status"] }, { required: ["activeForm"] }],
  },
  ({ id, ...patch }: Partial<TaskItemInput> & { id: string }, before) => changeOne(before, id, patch),
);

/** Marks one task as done. */
export const taskCompleteTool: TaskTool = taskTool(
  "task_complete",
  "Mark one task of the list as completed, by its id.",
  { type: "object", properties: { id: ID }, required: ["id"] },
  ({ id }: { id: string }, before) => changeOne(before, id, { status: "completed" }),
);

/** Reports what is left. */
export const taskCheckTool: TaskTool = createTool({
  id: "task_check",
  description:
    "Look at the list of tasks: which are completed and which are left. Use it before you say that you are done.",
  inputSchema: { type: "object", properties: {} } as JsonSchema,
  idempotent: true,
  execute: async (_input, { threadState }) => {
    if (!threadState) return { ...summarizeTaskCheck([]), ...NO_THREAD };
    return summarizeTaskCheck(readTasks(await threadState.get(TASK_STATE)));
  },
});

/** A tool that changes the list. Running it again has the same effect, so a crash costs nothing. */
function taskTool<Input>(
  id: string,
  description: string,
  inputSchema: JsonSchema,
  change: (input: Input, before: TaskItemSnapshot[]) => TaskItem[] | string,
): TaskTool {
  return createTool({
    id,
    description,
    inputSchema,
    idempotent: true,
    execute: async ({ context }, options): Promise<Result> =>
      changeList(options, (before) => change(context as Input, before)),
  });
}

async function changeList(
  { threadState }: Pick<ToolExecutionOptions, "threadState">,
  change: (before: TaskItemSnapshot[]) => TaskItem[] | string,
): Promise<Result> {
  if (!threadState) return NO_THREAD;
  let refusal: string | undefined;
  const stored = await threadState.update(TASK_STATE, (value) => {
    const before = readTasks(value);
    const after = change(before);
    refusal = typeof after === "string" ? after : undefined;
    // An unchanged list is not written: the model would be shown it once more.
    const isSame = typeof after === "string" || JSON.stringify(after) === JSON.stringify(before);
    return isSame ? value : after;
  });
  const tasks = readTasks(stored);
  return { content: refusal ?? renderTasks(tasks), tasks, isError: refusal !== undefined };
}

function changeOne(
  tasks: readonly TaskItemSnapshot[],
  id: string,
  patch: Partial<TaskItemInput>,
): TaskItem[] | string {
  if (!tasks.some((task) => task.id === id)) {
    const ids = tasks.map((task) => task.id).join(", ");
    return `There is no task "${id}". ${ids ? `Tasks: ${ids}.` : "The list is empty: write it with task_write."}`;
  }
  const changed = tasks.map((task) => (task.id === id ? { ...task, ...patch, id } : task));
  return keepOneInProgress(changed, patch.status === "in_progress" ? id : undefined);
}
