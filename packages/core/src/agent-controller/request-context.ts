import type { DataChunk } from "@selvedge/protocol";
import { currentRun } from "../run/current-run.ts";
import type { StoredSession } from "./session-domain.ts";
import type { AgentControllerWorkspace } from "./config.ts";
import type { AgentControllerEvent } from "@selvedge/protocol/session";
import type { State } from "./state-rules.ts";

/** The key under which an agent's tools and functions find the controller in a request context. */
export const CONTROLLER_KEY = "controller";

/** The value of `requestContext.get("controller")`. Created from ids in every process; nothing of it is stored. */
export interface AgentControllerRequestContext {
  controllerId: string;
  /** As of the time the run was prepared. */
  state: State;
  getState(): State;
  setState(updates: State): Promise<void>;
  /** `change` may be called more than once if others change the state too. */
  updateState(change: (state: State) => State): Promise<void>;
  threadId: string | undefined;
  resourceId: string | undefined;
  session: Pick<StoredSession, "id" | "ownerId" | "modeId" | "modelId" | "state"> | undefined;
  /** Of the run that the reading code is part of. */
  readonly abortSignal: AbortSignal | undefined;
  workspace: AgentControllerWorkspace | undefined;
  browser: object | undefined;
  /** Sends an event to everyone who listens to the thread, in any process. */
  emitEvent(event: AgentControllerEvent): void;
  getSubagentModelId(options?: { agentType?: string }): string | null;
}

/** Puts an event on the stream of the run that this code is part of. */
export function emitOnStream(event: AgentControllerEvent): void {
  void currentRun()?.stream.custom(controllerChunk(event));
}

/** An event as a chunk of the run that this code is part of. */
export function controllerChunk(event: AgentControllerEvent): DataChunk {
  const runId = currentRun()?.spec.runId ?? "";
  return { type: "data-controller-event", data: event, transient: true, runId, from: "AGENT" };
}
