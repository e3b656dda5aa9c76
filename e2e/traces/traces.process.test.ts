import { afterAll, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { commitSeed } from "../../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { compareTraces } from "./compare-traces.ts";

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: traces on PostgreSQL: ${found.missing}`);
afterAll(() => ("missing" in found ? undefined : found.stop()));

it.skipIf("missing" in found)(
  "a world takes the same course in memory, on libSQL and on PostgreSQL",
  { tags: ["long"] },
  async () => {
    const { connectionString } = found as PostgresServer;
    const { problems } = await compareTraces({ connectionString, seeds: 12, from: commitSeed() });
    expect(problems).toEqual([]);
  },
);
