// Inspecting threads from outside: activity, queues and runs. For servers and operator tools.
export { editQueued, listQueued, type QueuedMessage, removeQueued } from "../thread/inspect/queue.ts";
export { listWorkers, type Worker, type WorkerRun } from "../thread/inspect/list-workers.ts";
export { watchQueue } from "../thread/inspect/queue-watch.ts";
export {
  countRunning,
  listLanes,
  listRuns,
  ownerOfRun,
  ownerOfThread,
  readRunRecord,
  readThreadOverview,
  type RunRecord,
  type ThreadOverview,
} from "../thread/inspect/thread-overview.ts";
export {
  readRunTimeline,
  type RunTimeline,
  type TimelineStep,
  type TimelineTool,
} from "../thread/inspect/run-timeline.ts";
export type { Lane, StateMode } from "../signal/lane.ts";

// For forwarding chunks
export { toBroadcast } from "../thread/threads.ts";
// What people are asked by waiting calls
export { questionsOf } from "../thread/inspect/waiting-calls.ts";
