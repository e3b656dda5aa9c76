import { errorMessage } from "../errors.ts";
import { hideKeys } from "./hide-keys.ts";
import type { ModelCandidate } from "./model.ts";

const LONGEST_REASON = 1_000;

/** Why a call failed, safe to show: without keys, with the HTTP status, and without whole error pages. */
export function failureReason(error: unknown, candidate: ModelCandidate): string {
  const status = (error as { statusCode?: unknown } | null | undefined)?.statusCode;
  const message = errorMessage(error) || (error as Error).name;
  // Clipped generously before hiding, so that a key at the edge is seen whole.
  const safe = hideKeys(message.slice(0, 4 * LONGEST_REASON), candidate);
  const reason = safe.length > LONGEST_REASON ? `${safe.slice(0, LONGEST_REASON)}…` : safe;
  return typeof status === "number" ? `status ${status}, ${reason}` : reason;
}
