/** What a sender asked for. */
export interface DeliveryOptions {
  /** `queueMessage`: always a separate run. */
  queued: boolean;
  ifActive: "deliver" | "persist" | "discard";
  ifIdle: "wake" | "persist" | "discard";
}

/** The stored state of the thread at the moment of admission. */
export interface DeliveryState {
  activeRunId: string | undefined;
  activeAgentId: string | undefined;
}

/**
 * What happens to a signal:
 *
 * deliver   joins the active run at its next step
 * wake      opens a run: now if the thread is idle, otherwise when it is free
 * persist   is stored, and nothing runs
 * discard   is dropped
 */
export type Delivery =
  | { action: "deliver"; branch: "active" | "idle"; runId: string }
  | { action: "wake" | "queue"; branch: "active" | "idle" }
  | { action: "persist" | "discard"; branch: "active" | "idle"; runId: string | undefined };

/** Decides and does nothing else. A run of another agent is a reason to wait, not one to join. */
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
