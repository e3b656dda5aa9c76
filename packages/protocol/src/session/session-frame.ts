import type { AgentChunk } from "../chunk.ts";
import type { StoredThread } from "../message.ts";
import type { DisplayFacts } from "./display-state.ts";
import type { AgentControllerEvent } from "./events.ts";
import type { SessionInfo } from "./session-info.ts";

/** Everything there is to know of a session at the beginning of its stream, and whenever it comes to another thread. */
export interface SessionSnapshot {
  type: "session-snapshot";
  session: SessionInfo;
  facts: Partial<DisplayFacts>;
  /** The chunks that follow come after this number; those up to `until` were there before. */
  after: number;
  until: number;
  /** What a run waits for whose own chunks are no longer kept. */
  questions?: AgentChunk[];
  /** The thread, where the session has just created it. */
  created?: StoredThread;
}

/** One event on the stream of a session. Chunks are those of its thread. */
export type SessionFrame =
  | (AgentChunk & { seq: number })
  | SessionSnapshot
  /** The session was changed: this is how it is now. */
  | { type: "session-changed"; session: SessionInfo }
  /** What stands beside the stream: the queue, and after a run the tokens. */
  | { type: "session-facts"; facts: Partial<DisplayFacts> }
  /** Something that happened in the process that serves the stream. It is not repeated. */
  | { type: "session-event"; event: AgentControllerEvent }
  /** All that was there before has been sent. */
  | { type: "session-live" };
