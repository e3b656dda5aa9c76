import type { AgentControllerMode } from "./config.ts";

type Metadata = Record<string, unknown>;

/** Keys of a thread's metadata that controllers write. Tags and settings do not overwrite them. */
const RESERVED =
  /^(?:currentModeId|currentModelId|modeModelId_.*|sessionId|scopedBy|forkedSubagent|parentThreadId|clone|stateSignals)$/;

export function isReserved(key: string): boolean {
  return RESERVED.test(key);
}

/** The session that used a thread last. */
export function sessionIdIn(metadata: Metadata): string | undefined {
  const id = metadata["sessionId"];
  return typeof id === "string" ? id : undefined;
}

/** The model of a thread in a mode: chosen for the mode, the mode's own, or chosen for the thread. */
export function modelIn(metadata: Metadata, mode: AgentControllerMode): string {
  for (const value of [metadata[modeModelKey(mode.id)], mode.defaultModelId, metadata["currentModelId"]])
    if (typeof value === "string" && value !== "") return value;
  return "";
}

export function modeModelKey(modeId: string): string {
  return `modeModelId_${modeId}`;
}

/** The thread of the subagent that a call started. */
export function subagentThreadId({
  runId,
  toolCallId,
}: {
  runId?: string | undefined;
  toolCallId: string;
}): string {
  return `sub-${runId}-${toolCallId}`.slice(0, 250);
}

/** What a session leaves on the thread that it uses, for runs that others open there. */
export function settingsOf(session: { id: string; modeId: string; modelId: string }): Metadata {
  return {
    sessionId: session.id,
    currentModeId: session.modeId,
    ...(session.modelId !== "" && {
      currentModelId: session.modelId,
      [modeModelKey(session.modeId)]: session.modelId,
    }),
  };
}

/** Tags as metadata. Names that controllers use themselves are left out. */
export function tagsAsMetadata(tags: Record<string, string>): Metadata {
  return Object.fromEntries(Object.entries(tags).filter(([key]) => !isReserved(key)));
}

const HELPER_KEYS =
  /^(?:observerModelId|reflectorModelId|observationThreshold|reflectionThreshold|subagentModelId(?:_.*)?)$/;

/** Whether a controller reads a key of a thread's metadata: it decides what runs there may do and cost. */
export function isControllerKey(key: string): boolean {
  return isReserved(key) || HELPER_KEYS.test(key);
}

/** Settings without the models of modes, which belong to a thread. */
export function withoutModes(settings: Metadata): Metadata {
  return Object.fromEntries(Object.entries(settings).filter(([key]) => !key.startsWith(modeModelKey(""))));
}

/** The models and limits of helpers that a thread was left with. */
export function helperSettings(metadata: Metadata): Metadata {
  return Object.fromEntries(Object.entries(metadata).filter(([key]) => HELPER_KEYS.test(key)));
}
