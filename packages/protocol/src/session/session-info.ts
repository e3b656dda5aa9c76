import type { AgentControllerEvent } from "./events.ts";

/** A session as its clients know it. */
export interface SessionInfo {
  controllerId: string;
  id: string;
  ownerId: string;
  resourceId: string;
  /** The thread that the session is on. */
  threadId?: string;
  modeId: string;
  /** Empty where no model was chosen. */
  modelId: string;
  tags: Record<string, string>;
  /** Rises by one with every change. */
  version: number;
  /** With the grant `control`, as are `rules` and `grants`. */
  state?: Record<string, unknown>;
  rules?: { categories: Record<string, string>; tools: Record<string, string> };
  grants?: { categories: string[]; tools: string[] };
}

type Changeable = { modeId: string; modelId: string; state?: Record<string, unknown> };

/** What happened to a session, from two versions of it: one event for each thing that is different. */
export function changesOf(
  before: Changeable,
  after: Changeable,
  scope: "thread" | "global" = "thread",
): AgentControllerEvent[] {
  const events: AgentControllerEvent[] = [];
  const { modeId, modelId, state = {} } = after;
  if (modeId !== before.modeId) events.push({ type: "mode_changed", modeId, previousModeId: before.modeId });
  if (modelId !== before.modelId) events.push({ type: "model_changed", modelId, scope, modeId });
  const changedKeys = after.state === before.state ? [] : differentKeys(before.state ?? {}, state);
  if (changedKeys.length > 0) events.push({ type: "state_changed", state: { ...state }, changedKeys });
  return events;
}

function differentKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}
