import type { Storage } from "../../storage/storage.ts";
import { NOW, readMailbox } from "../admit/mailbox.ts";
import { checkOwnership, readActor } from "../hold/actor.ts";

/**
 * Whether a signal of this agent would join a run, wherever it is carried out. Another agent's run counts as idle: the
 * signal opens a run after it.
 */
export async function threadStateFor(
  storage: Storage,
  target: { agentId: string; threadId: string; resourceId: string },
): Promise<"active" | "idle"> {
  const { threadId } = target;
  const actor = await readActor(storage, threadId);
  checkOwnership(actor, threadId, target.resourceId);
  if (!actor) return "idle";
  if (actor.runId !== undefined) return actor.agentId === target.agentId ? "active" : "idle";
  if (actor.mailboxCount === 0) return "idle";
  // One of its own that is about to open a run, which the signal joins.
  const [item] = await readMailbox(storage, threadId, { due: NOW, agentId: target.agentId, limit: 1 });
  return item ? "active" : "idle";
}

/** The agent of a run, while the run is the active one of a thread. */
export async function agentOfActiveRun(
  storage: Storage,
  { threadId, runId }: { threadId: string; runId: string | undefined },
): Promise<string | undefined> {
  const actor = await readActor(storage, threadId);
  return actor?.runId !== undefined && actor.runId === runId ? actor.agentId : undefined;
}
