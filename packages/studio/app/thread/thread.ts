import type { ThreadMessage, UseThreadResult } from "@selvedge/react";
import type { ReactNode } from "react";

/** A call that waits for a person. */
export type Approval = UseThreadResult["approvals"][number] & {
  /** The rule that asks. */
  reason?: string | undefined;
  /** The call of the subagent that asks. */
  parentToolCallId?: string | undefined;
};

/** A subagent at work. */
interface Subagent {
  status: "running" | "completed" | "error";
  /** What it has said so far. */
  textDelta: string;
  toolCalls: readonly { name: string; isError: boolean }[];
}

/** What the thread of a session can do beside the rest. */
export interface InSession {
  steerQueued(id: string): Promise<void>;
  /** Puts a queued message at another place: 0 is the next one. */
  moveQueued(id: string, to: number): Promise<void>;
  /** Approves a call, and all of its category from now on. */
  alwaysAllow(toolCallId: string): Promise<void>;
  /** Those of the active run, by the calls that started them. */
  subagents: ReadonlyMap<string, Subagent>;
  /** The calls of the active run, with what their commands have written. */
  calls: ReadonlyMap<string, { shellOutput?: string }>;
  subagentMessages(toolCallId: string): Promise<readonly ThreadMessage[]>;
  /** Messages of a subagent, as rows. A call shows them, and they have calls. */
  showMessages(messages: readonly ThreadMessage[], agentName: string): ReactNode;
}

/** A thread as its page shows it: on its own, or as the one that a session is on. */
export interface Thread extends Omit<UseThreadResult, "approvals"> {
  readonly approvals: readonly Approval[];
  readonly inSession?: InSession;
}
