import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStorage, type Storage } from "@selvedge/core/storage";
import { LibSQLStore } from "@selvedge/libsql";
import { describe, expect, it } from "vitest";
import { type Moment, runRaces } from "./run-races.ts";

async function expectNoneLost(
  store: Storage,
  count: number,
  moment: (number: number) => Moment,
): Promise<void> {
  const moments = Array.from({ length: count }, (_, number) => moment(number));
  const { problems, actions } = await runRaces({ store, moments });
  expect(problems).toEqual([]);
  expect(actions).toEqual(new Set(["deliver", "queue", "wake"]));
}

describe("a message that arrives while a run ends", () => {
  it("is never lost, whatever turn of the event loop it arrives in (600 sends)", async () => {
    await expectNoneLost(new InMemoryStorage(), 600, (number) => ({ turns: number % 200 }));
  });

  it("is never lost, between whatever two operations of the store it arrives (240 sends)", async () => {
    await expectNoneLost(new InMemoryStorage(), 240, (number) => ({ operation: number % 40 }));
  });

  it("is never lost on a file (120 sends)", async () => {
    const folder = mkdtempSync(join(tmpdir(), "selvedge-races-"));
    const store = new LibSQLStore({ url: `file:${join(folder, "threads.db")}` });
    await expectNoneLost(store, 120, (number) =>
      number % 2 ? { operation: number % 40 } : { turns: number % 100 },
    );
    rmSync(folder, { recursive: true, force: true });
  });
});
