import { createHash } from "node:crypto";
import { readTasks } from "@selvedge/protocol/session";
import { SignalProvider } from "../agent/signal-provider.ts";
import type { Processor } from "../processor/processor.ts";
import type { ToolsInput } from "../tool/tool.ts";
import { renderTasks } from "./task-list.ts";
import {
  TASK_STATE,
  taskCheckTool,
  taskCompleteTool,
  taskUpdateTool,
  taskWriteTool,
} from "./tools/task-tools.ts";

/** A task list for an agent with memory: the tools that change it, and a lane that shows it to the model. */
export class TaskSignalProvider extends SignalProvider<"task-signals"> {
  readonly id = "task-signals";

  override getInputProcessors(): Processor[] {
    return [TASKS];
  }

  override getTools(): ToolsInput {
    return {
      task_write: taskWriteTool,
      task_update: taskUpdateTool,
      task_complete: taskCompleteTool,
      task_check: taskCheckTool,
    };
  }
}

/** Shows the model the list once each time it changes. */
const TASKS: Processor = {
  id: "task-signals",
  stateId: "tasks",
  async computeStateSignal({ threadState, tracking }) {
    const tasks = readTasks(await threadState?.get(TASK_STATE));
    if (tasks.length === 0 && !tracking) return undefined;
    const cacheKey = createHash("sha256").update(JSON.stringify(tasks)).digest("base64url");
    return { cacheKey, contents: renderTasks(tasks), tagName: "tasks", value: tasks };
  },
};
