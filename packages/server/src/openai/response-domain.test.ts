import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RESPONSE_DOMAIN, type ResponseDomain, type StoredResponse } from "./response-domain.ts";

let folder: string;
const opened: Storage[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "selvedge-"));
});
afterEach(async () => {
  for (const storage of opened.splice(0)) await storage.close();
  rmSync(folder, { recursive: true });
});

const STORES: Record<string, () => Storage> = {
  memory: () => new InMemoryStorage(),
  libSQL: () => new LibSQLStore({ url: `file:${join(folder, "store.db")}` }),
};
const owner = { resourceId: "ann", agentId: "a" };

describe.each(Object.keys(STORES))("responses in %s", (name) => {
  async function domains() {
    const storage = STORES[name]!();
    opened.push(storage);
    const responses = await storage.domain(RESPONSE_DOMAIN);
    const memory = (await storage.getStore("memory"))!;
    const begin = async (id: string, previous?: StoredResponse) =>
      responses.beginResponse({ id, ...owner, previous });
    return { storage, responses, memory, begin };
  }

  test("the first continuation is on the same thread and each further one on a copy up to there", async () => {
    const { storage, responses, begin } = await domains();
    const root = await begin("root");
    await say(storage, root, "root");
    const branches = await Promise.all([begin("b1", root), begin("b2", root), begin("b3", root)]);
    expect(new Set(branches.map(({ threadId }) => threadId)).size).toBe(3);
    expect(branches.filter(({ threadId }) => threadId === root.threadId)).toHaveLength(1);
    for (const branch of branches) await say(storage, branch, branch.id);
    for (const branch of branches) expect(await heard(responses, branch)).toEqual(["root", branch.id]);
    expect(await heard(responses, root)).toEqual(["root"]);
    expect(await responses.getResponse("b2")).toMatchObject({ id: "b2", previousId: "root", ...owner });
    expect(await responses.getResponse("none")).toBeUndefined();
  });

  test("they are forgotten with their thread", async () => {
    const { storage, responses, memory, begin } = await domains();
    const first = await begin("first");
    await say(storage, first, "one");
    const second = await begin("second", first);
    await say(storage, second, "two");
    const removed: object[] = [];
    const remove = async (remains: object) => void removed.push(remains);
    await responses.deleteResponse(second, remove);
    expect(removed).toEqual([{ kind: "messages", messageIds: [`${first.threadId}-two`] }]);
    expect(await responses.getResponse("second")).toBeUndefined();
    expect(await heard(responses, first)).toEqual(["one"]);
    await responses.deleteResponse(first, remove);
    expect(removed.at(-1)).toEqual({ kind: "thread", threadId: first.threadId });
    await memory.deleteThread({ threadId: first.threadId });
    expect(await responses.getDeletable("first")).toBeUndefined();
  });

  test("one that is being deleted is not gone on from any more, so nobody's thread goes with it", async () => {
    const { responses, memory, begin } = await domains();
    const first = await begin("one");
    const refused: unknown[] = [];
    await responses.deleteResponse(first, async ({ kind }) => {
      expect(kind).toBe("thread");
      await begin("two", first).catch((error: unknown) => refused.push(error));
      await memory.deleteThread(first);
    });
    expect(refused).toMatchObject([{ code: "not-found" }]);
    expect(await responses.getDeletable("one")).toBeUndefined();
  });

  test("one is there again when its deletion fails, and can be deleted again when the process ended on the way", async () => {
    const { responses, memory, begin } = await domains();
    const first = await begin("one");
    const broken = responses.deleteResponse(first, () => Promise.reject(new Error("broken")));
    await expect(broken).rejects.toThrow("broken");
    expect(await responses.getResponse("one")).toMatchObject({ id: "one" });
    void responses.deleteResponse(first, () => new Promise<never>(() => {}));
    await expect.poll(() => responses.getResponse("one")).toBeUndefined();
    expect(await responses.getDeletable("one")).toMatchObject({ threadId: first.threadId });
    await responses.deleteResponse(first, () => memory.deleteThread(first));
    expect(await responses.getDeletable("one")).toBeUndefined();
  });

  test("one that was deleted is gone where later ones stay", async () => {
    const { responses, begin } = await domains();
    const first = await begin("one");
    await begin("two", first);
    await responses.deleteResponse(first, () => expect.fail("there is nothing to remove"));
    expect(await responses.getDeletable("one")).toBeUndefined();
    expect(await responses.getResponse("two")).toMatchObject({ previousId: "one" });
  });
});

/** What a run would leave on the thread of a response. */
async function say(storage: Storage, { threadId }: StoredResponse, ...texts: string[]): Promise<void> {
  const memory = (await storage.getStore("memory"))!;
  const createdAt = new Date(0);
  const { resourceId } = owner;
  if (!(await memory.getThreadById({ threadId })))
    await memory.saveThread({ thread: { id: threadId, resourceId, createdAt, updatedAt: createdAt } });
  await memory.saveMessages({
    messages: texts.map((text) => ({
      id: `${threadId}-${text}`,
      role: "user",
      createdAt,
      threadId,
      resourceId,
      content: { format: 2, parts: [{ type: "text", text }] },
    })),
  });
}

async function heard(responses: ResponseDomain, response: StoredResponse): Promise<string[]> {
  const messages = await responses.listMessagesUntil(response, 100);
  return messages.flatMap(({ content }) => content.parts.map((part) => (part as { text: string }).text));
}
