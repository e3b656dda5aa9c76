import type { WireThread } from "@selvedge/protocol/routes";
import { path } from "./router.tsx";

/** The page of a thread that does not exist yet; its first message makes it. */
export function newThreadPath(agentId: string): string {
  return threadPath(crypto.randomUUID(), agentId);
}

export function threadPath(threadId: string, agentId: string | undefined): string {
  return path(["threads", threadId], { agent: agentId });
}

/** Threads of subagents are shown where they were started. */
export function isForPeople({ metadata }: Pick<WireThread, "metadata">): boolean {
  return metadata?.["subagent"] !== true;
}
