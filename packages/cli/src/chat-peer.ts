import type { AgentChunk } from "@selvedge/protocol";

/** A tool call that waits for a person. */
export interface WaitingCall {
  runId: string;
  toolCallId: string;
  toolName: string;
}

/** Whom a chat talks to: an agent of this process, or of a server. */
export interface ChatPeer {
  /** Takes up the named conversation, or the last one, or starts the first. Answers how many messages it has. */
  open(threadId: string | undefined): Promise<number>;
  /** Goes on in a conversation of its own. */
  startNew(): void;
  /** Says something; the chunks of the answer end with the run. The signal stops the run. */
  send(text: string, signal: AbortSignal): Promise<AsyncIterable<AgentChunk>>;
  /** Lets a waiting call run or not; the chunks are the rest of its run. */
  decide(call: WaitingCall, approved: boolean, signal: AbortSignal): Promise<AsyncIterable<AgentChunk>>;
}
