import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { libsqlStore } from "../kill/libsql-store.ts";
import { postgresStore } from "../kill/postgres-store.ts";
import type { StoreFactory } from "../kill/store-factory.ts";
import { FLOWS, MIXED } from "./flows.ts";
import { runWorkflowCancels } from "./run-workflow-cancels.ts";
import { runWorkflowKills } from "./run-workflow-kills.ts";
import { runWorkflowRaces } from "./run-workflow-races.ts";

const seed = commitSeed();

type Opened = { factory: StoreFactory; stop?(): Promise<void> } | { missing: string };

async function openPostgres(): Promise<Opened> {
  const server = await startPostgres();
  if ("missing" in server) console.warn(`skipped: workflows on PostgreSQL: ${server.missing}`);
  return "missing" in server ? server : { ...server, factory: postgresStore(server.connectionString) };
}

const openLibsql = async (): Promise<Opened> => ({ factory: libsqlStore() });

describe.each([
  { store: "libSQL", kills: 3, rounds: 10, tags: [], open: openLibsql },
  { store: "libSQL", kills: 40, rounds: 50, tags: ["long"], open: openLibsql },
  { store: "PostgreSQL", kills: 10, rounds: 50, tags: ["long"], open: openPostgres },
])("processes with workflows on $store, $kills times", ({ open, kills, rounds, tags }) => {
  let opened: Opened;
  beforeAll(async () => void (opened = await open()));
  afterAll(() => ("missing" in opened ? undefined : opened.stop?.()));

  function factoryOr(skip: (reason: string) => never): StoreFactory {
    return "missing" in opened ? skip(opened.missing) : opened.factory;
  }

  it(
    "finish what a killed one began, with the result of the plain interpreter",
    { tags },
    async ({ skip }) => {
      const report = await runWorkflowKills({ factory: factoryOr(skip), flows: FLOWS, kills, seed });
      expect(report.problems).toEqual([]);
      expect(report.kills).toBe(kills);
      expect(report.points.size).toBeGreaterThan(kills / 2);
    },
  );

  it("execute a step once when both resume it at once", { tags }, async ({ skip }) => {
    const report = await runWorkflowRaces({ factory: factoryOr(skip), rounds, seed });
    expect(report.problems).toEqual([]);
    expect(report.refused).toBe(rounds);
  });
});

describe.each([
  { store: "libSQL", kills: 2, tags: [], open: openLibsql },
  { store: "libSQL", kills: 6, tags: ["long"], open: openLibsql },
  { store: "PostgreSQL", kills: 4, tags: ["long"], open: openPostgres },
])("a process on $store that is killed $kills times", ({ open, kills, tags }) => {
  let opened: Opened;
  beforeAll(async () => void (opened = await open()));
  afterAll(() => ("missing" in opened ? undefined : opened.stop?.()));

  it(
    "leaves a run of lists, nested workflows, effects and sleeps to the next",
    { tags },
    async ({ skip }) => {
      if ("missing" in opened) return skip(opened.missing);
      const { factory } = opened;
      const report = await runWorkflowKills({ factory, flows: { mixed: MIXED }, kills, seed: 1 });
      expect(report.problems).toEqual([]);
      expect(report.kills).toBe(kills);
    },
  );

  it("leaves no approval open when its run is canceled in an agent's step", { tags }, async ({ skip }) => {
    if ("missing" in opened) return skip(opened.missing);
    const report = await runWorkflowCancels({ factory: opened.factory, rounds: kills, seed: 1 });
    expect(report.problems).toEqual([]);
    expect(report.kills).toBe(kills);
  });
});
