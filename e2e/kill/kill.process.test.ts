import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { sqldMissing } from "../../packages/libsql/src/__fixtures__/sqld-server.ts";
import { libsqlServerStore } from "./libsql-server-store.ts";
import { libsqlStore } from "./libsql-store.ts";
import { postgresStore } from "./postgres-store.ts";
import { runDispatches } from "./run-dispatches.ts";
import { runKills } from "./run-kills.ts";
import { runPauses } from "./run-pauses.ts";
import { type Harm, HARMS, runServerFaults } from "./run-server-faults.ts";
import { runTakeovers } from "./run-takeovers.ts";
import type { StoreFactory } from "./store-factory.ts";

const seed = commitSeed();

type Opened = { factory: StoreFactory; stop?(): Promise<void> } | { missing: string };

async function openPostgres(): Promise<Opened> {
  const server = await startPostgres();
  if ("missing" in server) console.warn(`skipped: kills on PostgreSQL: ${server.missing}`);
  return "missing" in server ? server : { ...server, factory: postgresStore(server.connectionString) };
}

async function openLibsqlServer(): Promise<Opened> {
  if (sqldMissing === undefined) return libsqlServerStore();
  console.warn(`skipped: kills on a libSQL server: ${sqldMissing}`);
  return { missing: sqldMissing };
}

const openLibsql = async (): Promise<Opened> => ({ factory: libsqlStore() });

describe.each([
  { store: "libSQL", kills: 6, share: 1, lanes: 1, tags: [], open: openLibsql },
  { store: "libSQL", kills: 60, share: 10, lanes: 1, tags: ["long"], open: openLibsql },
  { store: "PostgreSQL", kills: 60, share: 2, lanes: 4, tags: ["long"], open: openPostgres },
  { store: "a libSQL server", kills: 12, share: 2, lanes: 1, tags: ["long"], open: openLibsqlServer },
])("on $store, $kills kills", ({ open, kills, share, lanes, tags }) => {
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

const HARMED: Record<Harm, number> = { cut: 500, terminate: 20, crash: 20 };

it.each(HARMS)(
  "processes on a PostgreSQL server lose and repeat nothing through a %s",
  { tags: ["long"] },
  async (harm) => {
    const report = await runServerFaults({ harm, harms: HARMED[harm], seed });
    if (report.skipped !== undefined) return console.warn(`skipped: ${report.skipped}`);
    expect(report.problems).toEqual([]);
    expect(report.acknowledged).toBeGreaterThan(0);
  },
);
