import { expect, test } from "vitest";
import { byHeader, gate, served } from "./__fixtures__/served.ts";
import { Turns } from "./turns.ts";

test("work of one owner waits for its own, also for what failed, and never for another's", async () => {
  const turns = new Turns();
  const began: string[] = [];
  const release = gate();
  const work = (name: string) => async () => {
    began.push(name);
    await release.opened;
    if (name === "ann 1") throw new Error("broken");
    return name;
  };
  const first = turns.take("ann", work("ann 1"));
  const second = turns.take("ann", work("ann 2"));
  const other = turns.take("bob", work("bob 1"));
  expect(began).toEqual(["ann 1", "bob 1"]);
  release.open();
  await expect(first).rejects.toThrow("broken");
  expect(await Promise.all([second, other])).toEqual(["ann 2", "bob 1"]);
});

test("searches of one caller come one after the other", async () => {
  const world = served(["Hello."], { authorize: byHeader });
  const messages = "Go.";
  for (const as of ["ann", "bob"])
    await world.json("createThread", { query: {}, body: { threadId: as, title: messages } as never }, as);
  const domain = (await world.storage.getStore("memory"))!;
  let running = 0;
  let most = 0;
  const search = domain.searchMessages.bind(domain);
  domain.searchMessages = async (options) => {
    most = Math.max(most, ++running);
    try {
      return await search(options);
    } finally {
      running--;
    }
  };
  const ask = (as: string) => world.json("searchMemory", { query: { searchQuery: "qz" } }, as);
  await Promise.all(Array.from({ length: 10 }, () => ask("ann")));
  expect(most).toBe(1);
  await Promise.all([ask("ann"), ask("bob")]);
  expect(most).toBe(2);
});
