import { afterAll, expect, it } from "vitest";
import { type PostgresServer, startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { postgresStore } from "../kill/postgres-store.ts";
import { openStore } from "../kill/store-factory.ts";
import { runRaces } from "./run-races.ts";

const found = await startPostgres();
if ("missing" in found) console.warn(`skipped: races on PostgreSQL: ${found.missing}`);
afterAll(() => ("missing" in found ? undefined : found.stop()));

it.skipIf("missing" in found)(
  "loses no message that another process sends as a run ends",
  { tags: ["long"] },
  async () => {
    const place = await postgresStore((found as PostgresServer).connectionString).create("");
    const [store, elsewhere] = [await openStore(place), await openStore(place)];
    const moments = Array.from({ length: 120 }, (_, index) => ({ operation: index % 40 }));
    const { problems, actions } = await runRaces({ store, elsewhere, moments });
    expect(problems).toEqual([]);
    expect(actions.size).toBeGreaterThan(1);
  },
);
