// Looking at threads from outside: what goes on there, what waits, what ran. For servers and tools of operators.
export { editQueued, listQueued, type QueuedMessage, removeQueued } from "../thread/inspect/queue.ts";
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

// For those who pass chunks on
export { toBroadcast } from "../thread/threads.ts";
