import { path } from "./router.tsx";

/** The page of a thread that does not exist yet; its first message makes it. */
export function newThreadPath(agentId: string): string {
  return threadPath(crypto.randomUUID(), agentId);
}

export function threadPath(threadId: string, agentId: string | undefined): string {
  return path(["threads", threadId], { agent: agentId });
}
