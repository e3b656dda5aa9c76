import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { runDispatches } from "./run-dispatches.ts";
import { runKills } from "./run-kills.ts";
import { runPauses } from "./run-pauses.ts";
import { runTakeovers } from "./run-takeovers.ts";
import type { StoreFactory } from "./store-factory.ts";

export type Opened = { factory: StoreFactory; stop?(): Promise<void> } | { missing: string };

/**
 * Kills, takeovers, dispatchers and pauses on one store. `share` multiplies what is small otherwise. The stores have a file
 * each, so that they are tested side by side.
 */
export function testKills(
  store: string,
  options: { kills: number; share: number; lanes: number; tags: string[]; open(): Promise<Opened> },
): void {
  const { kills, share, lanes, tags, open } = options;
  const seed = commitSeed();
  describe(`on ${store}, ${kills} kills`, () => {
    let opened: Opened;
    beforeAll(async () => void (opened = await open()));
    afterAll(() => ("missing" in opened ? undefined : opened.stop?.()));

    function factoryOr(skip: (reason: string) => never): StoreFactory {
      return "missing" in opened ? skip(opened.missing) : opened.factory;
    }

    it(
      "a process that is killed loses no acknowledged message and repeats no effect",
      { tags },
      async ({ skip }) => {
        const factory = factoryOr(skip);
        // On a server, several groups of processes work side by side, each in its own schema.
        const reports = await Promise.all(
          Array.from({ length: lanes }, (_, lane) =>
            runKills({ factory, kills: kills / lanes, seed: seed + lane }),
          ),
        );
        expect(reports.flatMap(({ problems }) => problems)).toEqual([]);
        for (const report of reports) {
          expect(report.kills).toBe(kills / lanes);
          expect(report.atPoint).toBeGreaterThan(0);
          expect(report.acknowledged).toBeGreaterThan(0);
        }
      },
    );

    it(
      "a process that ends and does not come back is taken over by one that lives",
      { tags },
      async ({ skip }) => {
        const rounds = 2 * share;
        const report = await runTakeovers({ factory: factoryOr(skip), rounds, seed });
        expect(report.problems).toEqual([]);
        expect(report.rounds).toBe(rounds);
        expect(report.takeovers).toBeGreaterThan(0);
      },
    );

    it(
      "dispatchers deliver each notification in full once and lose none when one is killed",
      { tags },
      async ({ skip }) => {
        const report = await runDispatches({ factory: factoryOr(skip), kills: 2 * share, seed });
        expect(report.problems).toEqual([]);
        expect(report.kills).toBe(2 * share);
        expect(report.acknowledged).toBeGreaterThan(0);
      },
    );

    // Standing still is seen in /proc, which only Linux has.
    it.runIf(process.platform === "linux").for([2, 3] as const)(
      "a thread stays in order when its owner stands still past its lease, among %i processes",
      { tags },
      async (processes, { skip }) => {
        const report = await runPauses({ factory: factoryOr(skip), rounds: 3 * share, processes, seed });
        expect(report.problems).toEqual([]);
        expect(report.takeovers).toBeGreaterThan(0);
      },
    );
  });
}
