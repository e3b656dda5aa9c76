import { describeThread } from "../storage/message-writes.ts";
import type { Write } from "../storage/storage.ts";
import type { SessionCore } from "./session-core.ts";
import type { SessionPatch, StoredSession } from "./session-domain.ts";

/** A setting of the session; apps may also keep it in their state. */
export function settingOf({ settings, state }: StoredSession, key: string): unknown {
  return Object.hasOwn(settings, key) ? settings[key] : Object.hasOwn(state, key) ? state[key] : undefined;
}

/** Stores a setting with the session and its thread. */
export async function changeSetting(core: SessionCore, key: string, value: unknown): Promise<void> {
  await core.change(async (row) => settingChange(row, key, value));
}

/** The row with a setting, and what its thread says about it. */
export function settingChange(
  { settings, threadId }: StoredSession,
  key: string,
  value: unknown,
): { patch: SessionPatch; also: Write[] } {
  return {
    patch: { settings: { ...settings, [key]: value } },
    also: threadId === undefined ? [] : describeThread(threadId, { metadata: { [key]: value } }),
  };
}
