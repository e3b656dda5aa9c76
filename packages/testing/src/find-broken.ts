import { testCommit } from "./test-store-commit.ts";
import { testConnections } from "./test-store-connections.ts";
import { testIsolation } from "./test-store-isolation.ts";
import { testOrder } from "./test-store-order.ts";
import { runStoreTest, type StoreHarness, type StoreTest } from "./test-store.ts";

/** The tests of the suite about commits that a store does not pass, with the first line of why. */
export async function findBroken(
  create: () => Promise<StoreHarness>,
  isWanted: (title: string) => boolean = () => true,
): Promise<{ title: string; reason: string }[]> {
  const tests: Parameters<StoreTest>[] = [];
  const collect: StoreTest = (...args) => void tests.push(args);
  for (const suite of [testCommit, testIsolation, testOrder, testConnections]) suite(collect);
  const broken: { title: string; reason: string }[] = [];
  for (const [title, body, options] of tests) {
    if (!isWanted(title)) continue;
    await runStoreTest(create, body, options).catch((error: unknown) => {
      broken.push({ title, reason: String(error).split("\n")[0]! });
    });
  }
  return broken;
}
