import { AgentError } from "../errors.ts";
import type { SessionCore } from "./session-core.ts";

/** For awaited calls: an error is thrown to the caller and also shown. */
export async function shown<Value>({ bus }: SessionCore, work: () => Promise<Value>): Promise<Value> {
  try {
    return await work();
  } catch (thrown) {
    const error = thrown instanceof Error ? thrown : new AgentError("internal", String(thrown));
    bus.emit({ type: "error", error });
    throw error;
  }
}

/** For calls that are often not awaited: the promise rejects for callers that wait, and is harmless for others. */
export function quietly<Value>(core: SessionCore, work: () => Promise<Value>): Promise<Value> {
  const promise = shown(core, work);
  promise.catch(() => {});
  return promise;
}
