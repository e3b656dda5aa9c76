import type { Storage } from "@selvedge/core/storage";
import { describe, it } from "vitest";
import { testCommit } from "./test-store-commit.ts";
import { testMemoryDomain } from "./test-store-memory.ts";
import { testNotificationDomain } from "./test-store-notifications.ts";
import { testPrune } from "./test-store-prune.ts";
import { testResponseDomain } from "./test-store-responses.ts";
import { testSelect } from "./test-store-select.ts";

export interface StoreHarness {
  storage: Storage;
  /** For stores that outlive their process: the same data, opened anew. The suite closes `storage` first. */
  reopen?: () => Promise<Storage>;
  close(): Promise<void>;
}

/** Declares a test that gets a fresh, empty store. */
export type StoreTest = (
  title: string,
  body: (storage: Storage, harness: StoreHarness) => Promise<void>,
) => void;

/** The storage contract. `create` makes an empty store for each test; `close` gets rid of it. */
export function testStore(name: string, create: () => Promise<StoreHarness>): void {
  const test: StoreTest = (title, body) => {
    it(title, async () => {
      const harness = await create();
      try {
        await harness.storage.init();
        await body(harness.storage, harness);
      } finally {
        await harness.close();
      }
    });
  };
  describe(name, () => {
    describe("select and count", () => testSelect(test));
    describe("commit", () => testCommit(test));
    describe("memory domain", () => testMemoryDomain(test));
    describe("notification domain", () => testNotificationDomain(test));
    describe("response domain", () => testResponseDomain(test));
    describe("prune", () => testPrune(test));
  });
}
