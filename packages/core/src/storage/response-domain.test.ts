import { describe, expect, test } from "vitest";
import { InMemoryStorage } from "./in-memory-storage.ts";

async function domains() {
  const storage = new InMemoryStorage();
  const responses = (await storage.getStore("responses"))!;
  const memory = (await storage.getStore("memory"))!;
  const begin = (id: string, previousId?: string) =>
    (previousId === undefined ? Promise.resolve(undefined) : responses.getResponse(previousId)).then(
      (previous) => responses.beginResponse({ id, resourceId: "ann", agentId: "a", previous }),
    );
  return { responses, memory, begin };
}

describe("a response that is being deleted", () => {
  test("is not gone on from any more, so nobody's thread goes with it", async () => {
    const { responses, memory, begin } = await domains();
    const first = await begin("one");
    const refused: unknown[] = [];
    await responses.deleteResponse(first, async ({ kind }) => {
      expect(kind).toBe("thread");
      const late = responses.beginResponse({ id: "two", resourceId: "ann", agentId: "a", previous: first });
      await late.catch((error: unknown) => refused.push(error));
      await memory.deleteThread(first);
    });
    expect(refused).toMatchObject([{ code: "not-found" }]);
    expect(await responses.getDeletable("one")).toBeUndefined();
  });

  test("is there again when that fails, and can be deleted again when the process ended on the way", async () => {
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

  test("is gone where later ones stay", async () => {
    const { responses, begin } = await domains();
    const first = await begin("one");
    await begin("two", "one");
    await responses.deleteResponse(first, () => expect.fail("there is nothing to remove"));
    expect(await responses.getDeletable("one")).toBeUndefined();
    expect(await responses.getResponse("two")).toMatchObject({ previousId: "one" });
  });
});
