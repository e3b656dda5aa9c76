import { AgentError } from "@selvedge/core";
import type { Quota } from "@selvedge/core/guards";
import type { AuthInfo } from "@modelcontextprotocol/server";
import { principalOf } from "./principal.ts";

/** Counts a call as active until the returned function is called, or refuses it. */
export function enterCall(running: Quota, authInfo: AuthInfo | undefined): () => void {
  const caller = principalOf(authInfo);
  const full = running.full(caller);
  if (!full) return running.take(caller);
  throw new AgentError(
    "too-many-requests",
    `${full === "each" ? "You have" : "There are"} too many active calls. Try again when one has finished.`,
  );
}
