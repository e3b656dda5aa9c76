import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LibSQLStore } from "@selvedge/libsql";
import type { Storage } from "@selvedge/core/storage";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EVENTS } from "../../packages/core/src/storage/thread-tables.ts";
import { omFaults, omRows, waitingEvents } from "../../packages/memory/src/__fixtures__/om-world.ts";
import { runOmChild } from "./run-om-child.ts";

const ROUNDS = 50;

describe("two processes with one store", () => {
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

  it("make each observation once, and announce it once", async () => {
    const both = [0, 1].map((which) =>
      runOmChild({ url, from: which * 1_000, turns: ROUNDS / 2, observerMs: 20 }),
    );
    for (const report of await Promise.all(both)) {
      expect(report).toMatchObject({ isDone: true, code: 0 });
      expect(report.turns.length).toBe(ROUNDS / 2);
    }
    const last = await runOmChild({ url, from: 5_000, turns: 2 });
    expect(last).toMatchObject({ isDone: true, code: 0 });
    expect(await omFaults(storage)).toEqual([]);
    const { jobs, chunks, messages } = await omRows(storage);
    expect(messages.length).toBe(2 * (ROUNDS + 2));
    expect(jobs.filter(({ state }) => state !== "done")).toEqual([]);
    expect(chunks.length).toBeGreaterThan(20);
    expect(await waitingEvents(storage)).toBe(0);
    const rows = await storage.select({
      table: EVENTS,
      where: { thread_id: "t" },
      orderBy: [{ column: "first" }],
    });
    const told = rows
      .flatMap((row) => row.chunks as { type: string; data?: { cycleId?: string } }[])
      .filter(({ type }) => type.startsWith("data-om-") && type !== "data-om-status")
      .map(({ type, data }) => `${type} ${data?.cycleId}`);
    expect(new Set(told).size).toBe(told.length);
    // A job that a run waited for is announced as an observation, any other as buffering.
    const names = told.map((one) => one.replace(/data-om-(observation|buffering)-/, ""));
    for (const { cycle_id } of chunks) {
      const start = names.indexOf(`start ${cycle_id}`);
      expect(start).toBeGreaterThanOrEqual(0);
      expect(names.indexOf(`end ${cycle_id}`)).toBeGreaterThan(start);
    }
  }, 300_000);
});
