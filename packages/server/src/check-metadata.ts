import { AgentError } from "@selvedge/core";
import { isControllerKey } from "@selvedge/core/agent-controller";
import type { Principal } from "./caller.ts";

/** Limit for a thread's metadata, without its working memory. Every thread list reads metadata. */
const MOST_BYTES = 64 << 10;

/**
 * Refuses thread metadata that would exceed the limit together with what is stored, that contains working memory (which
 * the model reads in a system message), or that names the session, mode or model of its runs.
 */
export function checkMetadata(
  caller: Principal,
  given: Record<string, unknown> | undefined,
  present: Record<string, unknown> = {},
): void {
  if (given === undefined) return;
  const { workingMemory, ...kept } = present;
  const isSame = JSON.stringify(given["workingMemory"]) === JSON.stringify(workingMemory);
  if (Object.hasOwn(given, "workingMemory") && !isSame)
    caller.require("run-options", "A working memory in the metadata of a thread");
  const controls = Object.keys(given).find(
    (key) => isControllerKey(key) && JSON.stringify(given[key]) !== JSON.stringify(present[key]),
  );
  if (controls !== undefined) caller.require("control", `"${controls}" in the metadata of a thread`);
  const bytes = Buffer.byteLength(JSON.stringify({ ...kept, ...given }));
  if (bytes <= MOST_BYTES) return;
  throw new AgentError(
    "limit-exceeded",
    `The metadata of a thread has at most ${MOST_BYTES} bytes; this would make it ${bytes}.`,
  );
}
