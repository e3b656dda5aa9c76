import { InMemoryStorage, type ThreadDomain } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { conversation, runOn, texts } from "./__fixtures__/run-processors.ts";
import { MessageHistory } from "./message-history.ts";

const owner = { threadId: "t", resourceId: "r" };

async function storeWith(...lines: string[]): Promise<ThreadDomain> {
  const store = (await new InMemoryStorage().getStore("memory"))!;
  await store.saveMessages({ messages: conversation(owner, ...lines) });
  return store;
}

describe("MessageHistory", () => {
  it("puts the last messages before the input, oldest first", async () => {
    const run = runOn(owner, "now");
    await run.input([new MessageHistory({ storage: await storeWith("a", "b", "c"), lastMessages: 2 })]);
    expect(texts(run.list.get.all.db())).toEqual(["b", "c", "now"]);
    expect(texts(run.list.get.remembered.db())).toEqual(["b", "c"]);
  });

  it("does not count input that is stored already", async () => {
    const store = await storeWith("a", "b", "c", "now");
    const input = conversation(owner, "a", "b", "c", "now").slice(-1);
    const run = runOn(owner, input);
    await run.input([new MessageHistory({ storage: store, lastMessages: 2 })]);
    expect(texts(run.list.get.all.db())).toEqual(["b", "c", "now"]);
  });

  it("shows nothing of other threads", async () => {
    const run = runOn({ threadId: "other", resourceId: "r" }, "now");
    await run.input([new MessageHistory({ storage: await storeWith("a"), lastMessages: 10 })]);
    expect(texts(run.list.get.all.db())).toEqual(["now"]);
  });
});
