// Looking at threads from outside: what goes on there, what waits, what ran. For servers and tools of operators.
export { editQueued, listQueued, type QueuedMessage, removeQueued } from "../thread/queue.ts";
export { watchQueue } from "../thread/queue-watch.ts";
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
} from "../thread/thread-overview.ts";
export {
  readRunTimeline,
  type RunTimeline,
  type TimelineStep,
  type TimelineTool,
} from "../thread/run-timeline.ts";
export type { Lane, StateMode } from "../thread/lane.ts";

// For those who pass chunks on
export { toBroadcast } from "../thread/event-log.ts";
