import type { ResponseDomain, Storage, StoredResponse } from "@selvedge/core/storage";
import { expect } from "vitest";
import type { StoreTest } from "./test-store.ts";

const owner = { resourceId: "r", agentId: "a" };

async function domainOf(storage: Storage): Promise<ResponseDomain> {
  return (await storage.getStore("responses"))!;
}

/** What a run would leave on the thread of a response. */
async function say(storage: Storage, { threadId }: StoredResponse, ...texts: string[]): Promise<void> {
  const memory = (await storage.getStore("memory"))!;
  const createdAt = new Date(0);
  if (!(await memory.getThreadById({ threadId })))
    await memory.saveThread({
      thread: { id: threadId, resourceId: "r", createdAt, updatedAt: createdAt },
    });
  await memory.saveMessages({
    messages: texts.map((text) => ({
      id: `${threadId}-${text}`,
      role: "user",
      createdAt,
      threadId,
      resourceId: "r",
      content: { format: 2, parts: [{ type: "text", text }] },
    })),
  });
}

async function heard(storage: Storage, response: StoredResponse): Promise<string[]> {
  const messages = await (await domainOf(storage)).listMessagesUntil(response, 100);
  return messages.flatMap(({ content }) => content.parts.map((part) => (part as { text: string }).text));
}

export function testResponseDomain(test: StoreTest): void {
  test("puts the first continuation on the same thread and each further one on a copy up to there", async (storage) => {
    const domain = await domainOf(storage);
    const root = await domain.beginResponse({ id: "root", ...owner });
    await say(storage, root, "root");
    const follow = (id: string, previous: StoredResponse) => domain.beginResponse({ id, ...owner, previous });
    const branches = await Promise.all([follow("b1", root), follow("b2", root), follow("b3", root)]);
    expect(new Set(branches.map(({ threadId }) => threadId)).size).toBe(3);
    expect(branches.filter(({ threadId }) => threadId === root.threadId)).toHaveLength(1);
    for (const branch of branches) await say(storage, branch, branch.id);
    for (const branch of branches) expect(await heard(storage, branch)).toEqual(["root", branch.id]);
    expect(await heard(storage, root)).toEqual(["root"]);
    expect(await domain.getResponse("b2")).toMatchObject({ id: "b2", previousId: "root", ...owner });
    expect(await domain.getResponse("none")).toBeUndefined();
  });

  test("forgets responses with their thread", async (storage, harness) => {
    const domain = await domainOf(storage);
    const first = await domain.beginResponse({ id: "first", ...owner });
    await say(storage, first, "one");
    const second = await domain.beginResponse({ id: "second", ...owner, previous: first });
    await say(storage, second, "two");
    const removed: object[] = [];
    const remove = async (remains: object) => void removed.push(remains);
    await domain.deleteResponse(second, remove);
    expect(removed).toEqual([{ kind: "messages", messageIds: [`${first.threadId}-two`] }]);
    expect(await domain.getResponse("second")).toBeUndefined();
    expect(await heard(storage, first)).toEqual(["one"]);
    await domain.deleteResponse(first, remove);
    expect(removed.at(-1)).toEqual({ kind: "thread", threadId: first.threadId });
    await (await storage.getStore("memory"))!.deleteThread({ threadId: first.threadId });
    if (!harness.reopen) return;
    await storage.close();
    const again = await harness.reopen();
    expect(await (await domainOf(again)).getResponse("first")).toBeUndefined();
    await again.close();
  });
}
