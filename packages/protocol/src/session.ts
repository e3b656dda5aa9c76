// The events of a session and their folds, for the process that runs it and for readers of its stream
export { toControllerMessage, fromContents, fileContent, toError } from "./session/controller-message.ts";
export type { AgentControllerMessage, AgentControllerMessageContent } from "./session/controller-message.ts";
export { defaultDisplayState, defaultOMProgress, Display } from "./session/display-state.ts";
export type {
  AgentControllerDisplayState,
  DisplayFacts,
  OMProgressState,
  PendingSuspension,
} from "./session/display-state.ts";
export { EventBus } from "./session/event-bus.ts";
export { EventFold } from "./session/event-fold.ts";
export type {
  AgentControllerEvent,
  AgentControllerEventListener,
  AgentControllerEventType,
  AgentControllerThread,
  EventOf,
} from "./session/events.ts";
export { type ModifiedFiles, readFiles } from "./session/modified-files.ts";
export type { RunEnd } from "./session/run-ends.ts";
export type { SessionFrame, SessionSnapshot } from "./session/session-frame.ts";
export { changesOf, DELETED_THREADS, type SessionInfo } from "./session/session-info.ts";
export { SessionView } from "./session/session-view.ts";
export { ThreadEvents } from "./session/thread-events.ts";
export type { SignalRecord } from "./session/signal-record.ts";
export {
  AGENT_TOOL,
  type AskedCall,
  questionsBehind,
  SUBAGENT,
  subagentWaitOf,
  type SubagentWait,
} from "./session/subagent-wait.ts";
export { readTasks, TASK_MARKS, type TaskItemSnapshot, type TaskStatus } from "./session/task-item.ts";
export {
  addTokenUsage,
  createEmptyTokenUsage,
  toTokenUsage,
  type TokenUsage,
} from "./session/token-usage.ts";
