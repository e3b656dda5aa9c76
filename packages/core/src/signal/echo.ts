import type { DataChunk } from "@selvedge/protocol";
import type { CreatedAgentSignal } from "./signal.ts";

/** The chunk that shows a signal on its thread's stream. Stored with the signal, so each appears exactly once. */
export function echoOf(signal: CreatedAgentSignal, runId: string): DataChunk {
  return { ...signal.toDataPart(), runId, from: "AGENT" };
}
