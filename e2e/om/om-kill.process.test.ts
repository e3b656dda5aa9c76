import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import type { Storage } from "@selvedge/core/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EVENTS } from "../../packages/core/src/storage/thread-tables.ts";
import { omFaults, omRows, waitingEvents } from "../../packages/memory/src/__fixtures__/om-world.ts";
import type { KillPoint } from "./points.ts";
import { runOmChild } from "./run-om-child.ts";

/** Each commit of observational memory from both sides, and both models, in a different place of the thread's life. */
const POINTS: readonly KillPoint[] = (
  [
    { at: "job", when: "before" },
    { at: "job", when: "after" },
    { at: "take", when: "before" },
    { at: "take", when: "after" },
    { at: "observer", when: "during" },
    { at: "observed", when: "before" },
    { at: "observed", when: "after" },
    { at: "activation", when: "before" },
    { at: "activation", when: "after" },
    { at: "reflector", when: "during" },
    { at: "reflected", when: "before" },
    { at: "reflected", when: "after" },
    { at: "reflection-activation", when: "before" },
    { at: "reflection-activation", when: "after" },
  ] as const
).flatMap((point) => [
  { ...point, n: 1 },
  { ...point, n: 2 },
]);

describe("a process that is killed in the middle of its memory's work", () => {
  let folder: string;
  let url: string;
  let storage: Storage;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "selvedge-om-"));
    url = `file:${join(folder, "om.db")}`;
    storage = new LibSQLStore({ url });
    await storage.init();
  });
  afterEach(async () => {
    await storage.close();
    await rm(folder, { recursive: true });
  });

  it("is continued by the next process, which stores each result once", async () => {
    let turn = 0;
    let kills = 0;
    for (const kill of POINTS) {
      const report = await runOmChild({ url, from: turn, turns: 40, kill });
      if (report.signal === "SIGKILL") kills++;
      else expect(report, JSON.stringify(kill)).toMatchObject({ isDone: true, code: 0 });
      turn = (report.turns.at(-1) ?? turn) + 2;
      expect(await omFaults(storage), JSON.stringify(kill)).toEqual([]);
    }
    expect(kills).toBe(POINTS.length);
    for (const when of ["before", "after"] as const) {
      const id = `copy-${when}`;
      const report = await runOmChild({
        url,
        from: turn,
        turns: 2,
        clone: { id },
        kill: { at: "clone", when, n: 1 },
      });
      expect(report.signal).toBe("SIGKILL");
      turn += 3;
      const copied = await omRows(storage, id);
      // All of the copy is there, or nothing.
      if (when === "before") expect(copied).toMatchObject({ record: undefined, chunks: [], messages: [] });
      else {
        expect(copied.messages.length).toBeGreaterThan(0);
        expect(copied.record).toBeDefined();
      }
    }
    const last = await runOmChild({ url, from: turn, turns: 12, settles: true });
    expect(last).toMatchObject({ isDone: true, code: 0 });
    const copy = await runOmChild({ url, from: turn, turns: 12, threadId: "copy-after" });
    expect(copy).toMatchObject({ isDone: true, code: 0 });
    for (const id of ["t", "copy-after"]) {
      expect(await omFaults(storage, id), id).toEqual([]);
      const { jobs, chunks } = await omRows(storage, id);
      expect(
        jobs.filter(({ state }) => state !== "done"),
        id,
      ).toEqual([]);
      const cycles = chunks.map(({ cycle_id }) => cycle_id);
      expect(new Set(cycles).size).toBe(cycles.length);
    }
    expect(await waitingEvents(storage)).toBe(0);
    // Each result is announced once, and numbers have no gap.
    const rows = await storage.select({
      table: EVENTS,
      where: { thread_id: "t" },
      orderBy: [{ column: "first" }],
    });
    let next = rows[0]!.first;
    const told = new Map<string, number>();
    for (const row of rows) {
      expect(row.first).toBe(next);
      next = row.last + 1;
      for (const { type, data } of row.chunks as { type: string; data?: { cycleId?: string } }[]) {
        if (!type.startsWith("data-om-") || type === "data-om-status") continue;
        const key = `${type} ${data?.cycleId}`;
        told.set(key, (told.get(key) ?? 0) + 1);
      }
    }
    expect([...told].filter(([, count]) => count > 1)).toEqual([]);
    const { chunks } = await omRows(storage);
    for (const { cycle_id } of chunks) {
      const ends = [...told.keys()].filter((one) => one.endsWith(`-end ${cycle_id}`));
      expect(ends.length).toBe(1);
    }
  }, 600_000);
});
