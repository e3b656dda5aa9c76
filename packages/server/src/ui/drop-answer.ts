import { type Agent, AgentError } from "@selvedge/core";
import type { App } from "../app.ts";
import { threadDomain } from "../thread-domain.ts";

const RECENT = 200;

/** Removes a message and everything after it from a thread, so that it can be answered again. */
export async function dropAnswerTo(
  app: App,
  agent: Agent<string, Record<string, never>>,
  address: { threadId: string; resourceId: string; messageId: string },
): Promise<void> {
  const domain = await threadDomain(await agent.getThreadStorage());
  const { messages } = await domain.listMessages({
    threadId: address.threadId,
    orderBy: { direction: "DESC" },
    perPage: RECENT,
  });
  const index = messages.findIndex(({ id }) => id === address.messageId);
  if (index < 0) {
    throw new AgentError(
      "not-found",
      `Thread "${address.threadId}" has no message "${address.messageId}" among its newest.`,
    );
  }
  const ids = messages.slice(0, index + 1).map(({ id }) => id);
  const memory = (await app.memory(agent.id)) as { deleteMessages?: (ids: string[]) => Promise<void> };
  if (memory.deleteMessages) await memory.deleteMessages(ids);
  else await domain.deleteMessages(ids);
}
