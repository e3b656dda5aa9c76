/** What a sender asked for. */
export interface DeliveryOptions {
  /** `queueMessage`: always a run of its own. */
  queued: boolean;
  ifActive: "deliver" | "persist" | "discard";
  ifIdle: "wake" | "persist" | "discard";
}

/** The thread as the store has it at the moment of admission. */
export interface DeliveryState {
  activeRunId: string | undefined;
  activeAgentId: string | undefined;
}

/**
 * What becomes of a signal:
 *
 *     deliver   joins the active run at its next step
 *     wake      opens a run, now if the thread is idle, else when it is free
 *     persist   is stored and nothing runs
 *     discard   is gone
 */
export type Delivery =
  | { action: "deliver"; branch: "active" | "idle"; runId: string }
  | { action: "wake" | "queue"; branch: "active" | "idle" }
  | { action: "persist" | "discard"; branch: "active" | "idle"; runId: string | undefined };

/** Decides, and does nothing else. A run of another agent counts as a reason to wait, not as one to join. */
export function decideDelivery(state: DeliveryState, agentId: string, options: DeliveryOptions): Delivery {
  const { activeRunId } = state;
  if (options.queued) return { action: activeRunId === undefined ? "wake" : "queue", branch: "idle" };
  if (activeRunId !== undefined && state.activeAgentId === agentId) {
    if (options.ifActive === "deliver") return { action: "deliver", branch: "active", runId: activeRunId };
    return { action: options.ifActive, branch: "active", runId: activeRunId };
  }
  if (options.ifIdle === "wake")
    return { action: activeRunId === undefined ? "wake" : "queue", branch: "idle" };
  return { action: options.ifIdle, branch: "idle", runId: undefined };
}
