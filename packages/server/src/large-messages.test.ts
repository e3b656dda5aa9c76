import { expect, test } from "vitest";
import type { StoredMessage } from "@selvedge/protocol";
import { byHeader, served } from "./__fixtures__/served.ts";

const params = { threadId: "t" };
const large = (id: string): StoredMessage => ({
  id,
  role: "user",
  createdAt: new Date(0),
  threadId: "t",
  resourceId: "ann",
  content: { format: 2, parts: [{ type: "file", data: "A".repeat(7 << 20), mimeType: "image/png" }] },
});

test("messages that are too much for one answer, or one copy, are refused; fewer are not", async () => {
  const world = served(["Hello."], { authorize: byHeader });
  await world.json("createThread", { query: {}, body: { threadId: "t" } as never }, "ann");
  const domain = (await world.storage.getStore("memory"))!;
  const ids = Array.from({ length: 12 }, (_, index) => `m${index}`);
  await domain.saveMessages({ messages: ids.map(large) });
  const list = (query: object) => world.call("listMessages", { params, query }, "ann");
  const refused = await list({ perPage: 1000 });
  expect([refused.status, await refused.json()]).toMatchObject([413, { code: "limit-exceeded" }]);
  const copied = await world.call("cloneThread", { params, body: {} }, "ann");
  expect([copied.status, await copied.json()]).toMatchObject([413, { code: "limit-exceeded" }]);
  const { messages, total, hasMore } = await world.json(
    "listMessages",
    { params, query: { perPage: 5 } },
    "ann",
  );
  expect([messages.map(({ id }) => id), total, hasMore]).toEqual([ids.slice(-5), 12, true]);
});

test.each(["ASC", "DESC", undefined] as const)("a long page is whole and in order: %s", async (direction) => {
  const world = served(["Hello."], { authorize: byHeader });
  await world.json("createThread", { query: {}, body: { threadId: "t" } as never }, "ann");
  const domain = (await world.storage.getStore("memory"))!;
  const ids = Array.from({ length: 300 }, (_, index) => `m${index}`);
  const content = { format: 2 as const, parts: [{ type: "text" as const, text: "Hi" }] };
  await domain.saveMessages({ messages: ids.map((id) => ({ ...large(id), content })) });
  const query = { perPage: 120, page: 1, ...(direction && { direction }) };
  const { messages } = await world.json("listMessages", { params, query }, "ann");
  const page = direction === "ASC" ? ids.slice(120, 240) : ids.slice(60, 180);
  expect(messages.map(({ id }) => id)).toEqual(direction === "DESC" ? page.toReversed() : page);
});

test("a search finds fewer messages where they are large", async () => {
  const world = served(["Hello."], { authorize: byHeader });
  await world.json("createThread", { query: {}, body: { threadId: "t" } as never }, "ann");
  const domain = (await world.storage.getStore("memory"))!;
  const ids = Array.from({ length: 12 }, (_, index) => `m${index}`);
  const say = (id: string): StoredMessage => {
    const message = large(id);
    message.content.parts.push({ type: "text", text: "needle" });
    return message;
  };
  await domain.saveMessages({ messages: ids.map(say) });
  const query = { searchQuery: "needle", limit: 100 };
  const { results } = await world.json("searchMemory", { query }, "ann");
  expect(results.map(({ message }) => message.id)).toEqual(["m11", "m10", "m9", "m8", "m7"]);
});
