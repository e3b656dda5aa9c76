import { Storage } from "@selvedge/core/storage";
import { describe, expect, it } from "vitest";
import { DistantDriver, Place } from "./__fixtures__/distant-driver.ts";
import { findBroken } from "./find-broken.ts";
import {
  AppliesAnIdTwice,
  ChecksBeforeTheTransaction,
  KeepsHalf,
  LocksInTheSameStatement,
  NumbersInBlocks,
  OvertakesItself,
  RefusesForNoReason,
  ShowsHalf,
  WatchesOneKey,
  WatchesWrongKeys,
} from "./__fixtures__/planted-drivers.ts";
import type { StoreHarness } from "./test-store.ts";

function harness(Driver: typeof DistantDriver): () => Promise<StoreHarness> {
  return async () => {
    const place = new Place();
    const open = (): Storage => new Storage(new Driver(place), { id: "distant" });
    const storage = open();
    return { storage, connect: async () => open(), newsWithinMs: 100, close: () => storage.close() };
  };
}

const RACES = [
  "accepts nothing for a run that ends, and ends none for which something was accepted",
  "carries out nothing under an old fence after a new one",
  "accepts one of several inserts that require that there is none",
];
const HISTORY = "gives what commits one after another give, in an order that fits (history 1)";
const NEWS = "reports which keys another connection changed, or that it cannot tell";

describe("the suite of stores", () => {
  it.each<[what: string, Driver: typeof DistantDriver, caughtBy: string[]]>([
    ["checks conditions before the transaction", ChecksBeforeTheTransaction, RACES],
    ["takes the lock in the statement that checks", LocksInTheSameStatement, [...RACES, HISTORY]],
    [
      "carries out commits of a key in any order",
      OvertakesItself,
      [HISTORY, "carries out commits of a key in the order they were asked for, whatever others do"],
    ],
    [
      "takes numbers in blocks",
      NumbersInBlocks,
      ["numbers the rows of a key upwards, whichever connection inserts them"],
    ],
    ["keeps half of a commit", KeepsHalf, [HISTORY, "applies nothing when any write fails, at any place"]],
    ["shows half of a commit", ShowsHalf, ["never shows half of a commit"]],
    ["refuses for no reason", RefusesForNoReason, [HISTORY]],
    ["applies an id twice", AppliesAnIdTwice, ["carries out a commit once, however often its id is sent"]],
    ["reports wrong keys", WatchesWrongKeys, [NEWS]],
    ["reports one of several keys", WatchesOneKey, [NEWS]],
  ])("catches a driver that %s", async (_, Driver, caughtBy) => {
    const broken = await findBroken(harness(Driver), (title) => caughtBy.includes(title));
    expect(broken.map(({ title }) => title).toSorted()).toEqual(caughtBy.toSorted());
  });

  it("finds nothing wrong with a driver that keeps every rule, however slow", async () => {
    expect(await findBroken(harness(DistantDriver))).toEqual([]);
  });
});
