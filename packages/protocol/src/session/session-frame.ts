import type { AgentChunk } from "../chunk.ts";
import type { StoredThread } from "../message.ts";
import type { DisplayFacts } from "./display-state.ts";
import type { AgentControllerEvent } from "./events.ts";
import type { SessionInfo } from "./session-info.ts";

/** The complete state of a session, at the start of its stream and whenever it moves to another thread. */
export interface SessionSnapshot {
  type: "session-snapshot";
  session: SessionInfo;
  facts: Partial<DisplayFacts>;
  /** The following chunks come after this number; those up to `until` are replayed. */
  after: number;
  until: number;
  /** What a run waits for, if its own chunks are no longer stored. */
  questions?: AgentChunk[];
  /** The thread, if the session has just created it. */
  created?: StoredThread;
}

/** One event on the stream of a session. Chunks are those of its thread. */
export type SessionFrame =
  | (AgentChunk & { seq: number })
  | SessionSnapshot
  /** The session changed: this is its new state. */
  | { type: "session-changed"; session: SessionInfo }
  /** State beside the stream: the queue, and after a run the tokens. */
  | { type: "session-facts"; facts: Partial<DisplayFacts> }
  /** An event of the serving process. It is not repeated. */
  | { type: "session-event"; event: AgentControllerEvent }
  /** Everything from before the connection has been sent. */
  | { type: "session-live" };
