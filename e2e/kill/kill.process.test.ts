import { afterAll, describe, expect, it } from "vitest";
import {
  type PostgresServer,
  startPostgres,
} from "../../packages/testing/src/postgres/__fixtures__/postgres-server.ts";
import { commitSeed } from "../proof/commit-seed.ts";
import { libsqlStore } from "./libsql-store.ts";
import { postgresStore } from "./postgres-store.ts";
import { runDispatches } from "./run-dispatches.ts";
import { runKills } from "./run-kills.ts";
import { runPauses } from "./run-pauses.ts";
import { runTakeovers } from "./run-takeovers.ts";
import type { StoreFactory } from "./store-factory.ts";

const seed = commitSeed();
const postgres = await startPostgres();
if ("missing" in postgres) console.warn(`skipped: kills on PostgreSQL: ${postgres.missing}`);
afterAll(() => (postgres as Partial<PostgresServer>).stop?.());

const LIBSQL = libsqlStore();
/** A few rounds, and with the tag `long` many on a file and some on a server. */
const ROUNDS: { factory: StoreFactory; share: number; tags: string[] }[] = [
  { factory: LIBSQL, share: 1, tags: [] },
  { factory: LIBSQL, share: 10, tags: ["long"] },
  ...("missing" in postgres
    ? []
    : [{ factory: postgresStore(postgres.connectionString), share: 2, tags: ["long"] }]),
];

describe.each(ROUNDS)("on $factory.name, $share times", ({ factory, share, tags }) => {
  it("a process that is killed loses no acknowledged message and repeats no effect", { tags }, async () => {
    const kills = 6 * share;
    const report = await runKills({ factory, kills, seed });
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(kills);
    expect(report.atPoint).toBeGreaterThan(0);
    expect(report.acknowledged).toBeGreaterThan(kills);
  });

  it("a process that ends and does not come back is taken over by one that lives", { tags }, async () => {
    const rounds = 2 * share;
    const report = await runTakeovers({ factory, rounds, seed });
    expect(report.problems).toEqual([]);
    expect(report.rounds).toBe(rounds);
    expect(report.takeovers).toBeGreaterThan(0);
  });

  it(
    "dispatchers deliver each notification in full once and lose none when one is killed",
    { tags },
    async () => {
      const kills = 2 * share;
      const report = await runDispatches({ factory, kills, seed });
      expect(report.problems).toEqual([]);
      expect(report.kills).toBe(kills);
      expect(report.acknowledged).toBeGreaterThan(kills);
    },
  );

  // Standing still is seen in /proc, which only Linux has.
  it.runIf(process.platform === "linux").each([2, 3] as const)(
    "a thread stays in order when its owner stands still past its lease, among %i processes",
    { tags },
    async (processes) => {
      const report = await runPauses({ factory, rounds: 3 * share, processes, seed });
      expect(report.problems).toEqual([]);
      expect(report.takeovers).toBeGreaterThan(0);
    },
  );
});
