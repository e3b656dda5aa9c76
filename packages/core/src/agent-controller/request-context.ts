import { currentRun } from "../run/current-run.ts";
import type { StoredSession } from "./session-domain.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import type { State } from "./state-rules.ts";

/** Where tools and functions of an agent find the controller in a request context. */
export const CONTROLLER_KEY = "controller";

/** What `requestContext.get("controller")` gives. Made anew from ids in every process; nothing of it is stored. */
export interface AgentControllerRequestContext {
  controllerId: string;
  /** As it was when the run was prepared. */
  state: State;
  getState(): State;
  setState(updates: State): Promise<void>;
  /** `change` may be called more than once, where others change the state too. */
  updateState(change: (state: State) => State): Promise<void>;
  threadId: string | undefined;
  resourceId: string | undefined;
  session: Pick<StoredSession, "id" | "ownerId" | "modeId" | "modelId" | "state"> | undefined;
  /** Of the run that the code which reads it is part of. */
  readonly abortSignal: AbortSignal | undefined;
  workspace: AgentControllerWorkspace | undefined;
  browser: object | undefined;
  /** Shows an event to everybody who listens to the thread, in any process. */
  emitEvent(event: AgentControllerEvent): void;
  getSubagentModelId(options?: { agentType?: string }): string | null;
}

/** Puts an event on the stream of the run that this code is part of. */
export function emitOnStream(event: AgentControllerEvent): void {
  void currentRun()?.stream.custom({ type: "data-controller-event", data: event, transient: true });
}
