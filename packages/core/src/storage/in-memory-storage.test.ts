import { testStore } from "@selvedge/testing/suites";
import { expect, it } from "vitest";
import { InMemoryStorage, InMemoryStore } from "./in-memory-storage.ts";

testStore("InMemoryStorage", async () => {
  const storage = new InMemoryStorage();
  return { storage, close: () => storage.close() };
});

it("has a second name", () => {
  expect(InMemoryStore).toBe(InMemoryStorage);
  expect(new InMemoryStore({ id: "mine" }).id).toBe("mine");
});
