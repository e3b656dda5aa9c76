import { AgentError } from "../errors.ts";
import type { SessionCore } from "./session-core.ts";

/** For calls that are awaited: what goes wrong is told to the caller, and shown. */
export async function shown<Value>({ bus }: SessionCore, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new AgentError("internal", String(thrown));
    bus.emit({ type: "error", error });
    throw error;
  }
}

/** For calls that are often not awaited: the promise rejects for who waits, and harms nobody who does not. */
export function quietly<Value>(core: SessionCore, work: () => Promise<Value>): Promise<Value> {
  const promise = shown(core, work);
  promise.catch(() => {});
  return promise;
}
