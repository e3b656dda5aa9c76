import type { Processor } from "../processor/processor.ts";
import type { Storage } from "../storage/storage.ts";
import { readTasks } from "@selvedge/protocol/session";
import { renderTasks } from "./task-list.ts";
import { TASK_STATE } from "./tools/task-tools.ts";

/** Shows the model the task list of its thread, once each time it changes. */
export function tasksProcessor(storage: Storage): Processor {
  return {
    id: "tasks",
    stateId: "tasks",
    async computeStateSignal({ threadId, tracking }) {
      if (threadId === undefined) return undefined;
      const domain = await storage.getStore("threadState");
      const state = await domain?.getState({ threadId, type: TASK_STATE });
      const tasks = readTasks(state?.value);
      if (!state || (tasks.length === 0 && !tracking)) return undefined;
      return { cacheKey: `v${state.version}`, contents: renderTasks(tasks), tagName: "tasks", value: tasks };
    },
  };
}
