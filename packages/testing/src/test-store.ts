import type { Storage } from "@selvedge/core/storage";
import { describe, it } from "vitest";
import { testCommit } from "./test-store-commit.ts";
import { testConnections } from "./test-store-connections.ts";
import { testDomains } from "./test-store-domains.ts";
import { testIsolation } from "./test-store-isolation.ts";
import { testThreadDomain } from "./test-store-threads.ts";
import { testNotificationDomain } from "./test-store-notifications.ts";
import { testOmDomain } from "./test-store-om.ts";
import { testOrder } from "./test-store-order.ts";
import { testPrune } from "./test-store-prune.ts";
import { testSelect } from "./test-store-select.ts";
import { testSessionDomain } from "./test-store-sessions.ts";
import { testThreadStateDomain } from "./test-store-thread-state.ts";

export interface StoreHarness {
  storage: Storage;
  /** For stores that outlive their process: the same data, opened anew. The suite closes `storage` first. */
  reopen?: () => Promise<Storage>;
  /**
   * Another connection to the same data, as another process has one; the suite closes it. Without it everything happens
   * on one connection.
   */
  connect?: () => Promise<Storage>;
  /** How long the news of a commit may take to other connections; 5,000 unless told. */
  newsWithinMs?: number;
  close(): Promise<void>;
}

/** A harness in use: `connections` gives so many of them, the store's own first. */
interface OpenHarness extends StoreHarness {
  connections(count: number): Promise<Storage[]>;
}

export type StoreTestBody = (storage: Storage, harness: OpenHarness) => Promise<void>;

/** Declares a test that gets a fresh, empty store. */
export type StoreTest = (title: string, body: StoreTestBody, options?: { untouched?: boolean }) => void;

/** Runs a test of the suite on a fresh store. `untouched` leaves it to the test to create the tables. */
export async function runStoreTest(
  create: () => Promise<StoreHarness>,
  body: StoreTestBody,
  { untouched = false }: { untouched?: boolean } = {},
): Promise<void> {
  const harness = await create();
  const { storage } = harness;
  const opened: Storage[] = [];
  const connections = async (count: number): Promise<Storage[]> => {
    const all = [storage];
    while (all.length < count) {
      const connection = await harness.connect?.();
      if (connection) opened.push(connection);
      all.push(connection ?? storage);
    }
    return all;
  };
  try {
    if (!untouched) await storage.init();
    await body(storage, { ...harness, connections });
  } finally {
    for (const connection of opened) await connection.close();
    await harness.close();
  }
}

/** The storage contract. `create` makes an empty store for each test; `close` gets rid of it. */
export function testStore(name: string, create: () => Promise<StoreHarness>): void {
  const test: StoreTest = (title, body, options) => {
    it(title, () => runStoreTest(create, body, options));
  };
  describe(name, () => {
    describe("select and count", () => testSelect(test));
    describe("commit", () => testCommit(test));
    describe("isolation", () => testIsolation(test));
    describe("order", () => testOrder(test));
    describe("connections", () => testConnections(test));
    describe("thread domain", () => testThreadDomain(test));
    describe("notification domain", () => testNotificationDomain(test));
    describe("domains of other rooms", () => testDomains(test));
    describe("thread state domain", () => testThreadStateDomain(test));
    describe("session domain", () => testSessionDomain(test));
    describe("rows of observational memory", () => testOmDomain(test));
    describe("prune", () => testPrune(test));
  });
}
