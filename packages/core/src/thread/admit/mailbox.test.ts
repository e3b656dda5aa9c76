import { beforeEach, describe, expect, it } from "vitest";
import { createSignal } from "../../signal/signal.ts";
import { InMemoryStorage } from "../../storage/in-memory-storage.ts";
import { ACTORS } from "../../storage/thread-tables.ts";
import { insertActor } from "../hold/actor.ts";
import {
  CONTINUE,
  countAttempt,
  type Due,
  itemBytes,
  type MailboxItem,
  NEXT,
  nothingDueNow,
  NOW,
  postItem,
  readMailbox,
  runOpenedBy,
  takeItems,
} from "./mailbox.ts";

const LIMITS = { messages: 3, bytes: 100 };
let storage: InMemoryStorage;

beforeEach(async () => {
  storage = new InMemoryStorage();
  await storage.init();
  await storage.commit([insertActor("t", "r")]);
});

function item(id: string, due: Due = NOW, change: Partial<MailboxItem> = {}): MailboxItem {
  const make = { newId: () => id, now: () => 0 };
  const signal = createSignal({ type: "user-message", contents: id }, make);
  return {
    seq: 0,
    threadId: "t",
    resourceId: "r",
    agentId: "me",
    due,
    runId: `run-${id}`,
    opens: true,
    signal,
    options: undefined,
    bytes: 10,
    ...change,
  };
}
const post = (...items: MailboxItem[]) => storage.commit(items.flatMap((one) => postItem(one, LIMITS)));
const waiting = async (options: { due?: Due; agentId?: string; id?: string } = {}) =>
  (await readMailbox(storage, "t", { ...options, limit: 10 })).map((one) => one.signal.id);
const counts = async () => {
  const [actor] = await storage.select({ table: ACTORS, where: { thread_id: "t" } });
  return { count: actor!.mailbox_count, bytes: actor!.mailbox_bytes, hasMail: actor!.has_mail };
};

describe("a mailbox", () => {
  it("returns what is due first, oldest first, and only what was asked for", async () => {
    await post(item("next", NEXT), item("tools", CONTINUE), item("now", NOW, { agentId: "other" }));
    expect(await waiting()).toEqual(["now", "tools", "next"]);
    expect(await waiting({ due: NEXT })).toEqual(["next"]);
    expect(await waiting({ agentId: "me" })).toEqual(["tools", "next"]);
    expect(await waiting({ id: "now" })).toEqual(["now"]);
  });

  it("counts what it contains, down to nothing", async () => {
    await post(item("a"), item("b", NEXT, { bytes: 5 }));
    expect(await counts()).toEqual({ count: 2, bytes: 15, hasMail: 1 });
    await storage.commit(takeItems("t", [item("a")]));
    expect(await counts()).toEqual({ count: 1, bytes: 5, hasMail: 1 });
    await storage.commit(takeItems("t", [item("b", NEXT, { bytes: 5 })]));
    expect(await counts()).toEqual({ count: 0, bytes: 0, hasMail: null });
    expect(takeItems("t", [])).toEqual([]);
  });

  it.each([
    ["the last message that fits", 2, 10, true],
    ["one message too many", 3, 10, false],
    ["the last byte that fits", 1, 90, true],
    ["one byte too many", 1, 91, false],
  ])("accepts or refuses %s", async (_, before, bytes, isAccepted) => {
    await post(...Array.from({ length: before }, (__, index) => item(`m${index}`)));
    const posted = post(item("last", NOW, { bytes }));
    if (isAccepted) await posted;
    // The second write of a post is the one that has no room.
    else await expect(posted).rejects.toMatchObject({ code: "conflict", details: { index: 1 } });
    expect((await waiting()).length).toBe(before + (isAccepted ? 1 : 0));
  });

  it("gives each item to one taker only", async () => {
    await post(item("a"));
    await storage.commit(takeItems("t", [item("a")]));
    await expect(storage.commit(takeItems("t", [item("a")]))).rejects.toMatchObject({ code: "conflict" });
    expect(await counts()).toMatchObject({ count: 0, bytes: 0 });
  });

  it("keeps the options and messages that wait with an item", async () => {
    const messages = [{ id: "m", role: "user", content: { format: 2, parts: [] } }] as never;
    await post(item("a", CONTINUE, { messages, options: { maxSteps: 3 } as never }));
    const [read] = await readMailbox(storage, "t", { limit: 1 });
    expect(read).toMatchObject({ messages: [{ id: "m" }], options: { maxSteps: 3 }, attempts: 0 });
  });

  it("counts the attempts of the run that an item opens, whether it was promised or named after the item", async () => {
    await post(item("promised"), item("left", NOW, { opens: false }), item("other"));
    await storage.commit([...countAttempt("t", "run-promised"), ...countAttempt("t", "left")]);
    const items = await readMailbox(storage, "t", { limit: 10 });
    expect(items.map((one) => one.attempts)).toEqual([1, 1, 0]);
    expect(items.map(runOpenedBy)).toEqual(["run-promised", "left", "run-other"]);
  });

  it.each([
    ["nothing waits", [], undefined, true],
    ["something waits for a run", [item("a")], undefined, false],
    ["something waits for another agent's run", [item("a", NOW, { agentId: "other" })], "me", true],
    ["only later runs wait", [item("a", NEXT), item("b", CONTINUE)], undefined, true],
  ])("knows whether anything is due: %s", async (_, items, agentId, isFree) => {
    await post(...items);
    const asked = storage.commit([nothingDueNow("t", agentId)]);
    if (isFree) await asked;
    else await expect(asked).rejects.toMatchObject({ code: "conflict" });
  });

  it("counts bytes, not characters, and the options beside them", () => {
    expect(itemBytes("é", undefined)).toBe(4);
    expect(itemBytes("e", { a: 1 } as never)).toBe(3 + '{"a":1}'.length);
  });
});
