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
  /** Models of helpers and of other modes by their names, and the threads that were deleted last. */
  settings: Record<string, unknown>;
  /** Rises by one with every change. */
  version: number;
  /** With the grant `control`, as are `rules` and `grants`. */
  state?: Record<string, unknown>;
  rules?: { categories: Record<string, string>; tools: Record<string, string> };
  grants?: { categories: string[]; tools: string[] };
}

type Changeable = {
  modeId: string;
  modelId: string;
  settings: Record<string, unknown>;
  state?: Record<string, unknown>;
};

/** Where among the settings the threads are that a session deleted, the last ones. */
export const DELETED_THREADS = "deletedThreads";

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
  if (after.settings !== before.settings)
    for (const key of differentKeys(before.settings, after.settings))
      events.push(...settingChanged(key, before.settings[key], after.settings[key], scope));
  return events;
}

/** What it means that a setting is another. One that was taken away is no event. */
function settingChanged(
  key: string,
  before: unknown,
  after: unknown,
  scope: "thread" | "global",
): AgentControllerEvent[] {
  if (key === DELETED_THREADS) {
    const known = new Set(Array.isArray(before) ? (before as string[]) : []);
    const deleted = (Array.isArray(after) ? (after as string[]) : []).filter((id) => !known.has(id));
    return deleted.map((threadId) => ({ type: "thread_deleted", threadId }));
  }
  const [, name = "", of] = /^(observer|reflector|subagent|mode)ModelId(?:_(.*))?$/.exec(key) ?? [];
  if (typeof after !== "string" || name === "") return [];
  if (name === "mode")
    return of === undefined ? [] : [{ type: "model_changed", modelId: after, scope, modeId: of }];
  if (name !== "subagent")
    return [{ type: "om_model_changed", role: name as "observer" | "reflector", modelId: after }];
  const which = of === undefined ? {} : { agentType: of };
  return [{ type: "subagent_model_changed", modelId: after, scope: "thread", ...which }];
}

function differentKeys(before: Record<string, unknown>, after: Record<string, unknown>): string[] {
  const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
  return [...keys].filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}
