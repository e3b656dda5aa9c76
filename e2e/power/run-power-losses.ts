import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DatabaseSync } from "node:sqlite";
import type { Durability } from "@selvedge/libsql";
import { openApp } from "../kill/app.ts";
import { ChildHandle } from "../kill/child-handle.ts";
import { fileIn, libsqlStore } from "../kill/libsql-store.ts";
import { Session } from "../kill/session.ts";
import { buildRecorder } from "./build-recorder.ts";
import { Disk } from "./disk.ts";

export interface PowerReport {
  /** Why nothing was done, if so. */
  skipped?: string;
  losses: number;
  /** Messages that had been acknowledged when the power failed, over all losses. */
  acknowledged: number;
  /** Of those, how many are gone: none at `power-safe`. */
  lost: number;
  problems: string[];
}

const LEASE = { leaseMs: 15_000, renewMs: 5_000 };
const MESSAGES = 60;
const LOSSES_PER_RECORD = 100;
const TOOLS = [[], ["plain"], ["plain", "idempotent"], []] as const;

/**
 * Records what a process writes while it works, then builds the files as they may be found when the power failed at a
 * random moment, starts on them, and looks. At `process-safe` the file must be sound and what is missing must be missing
 * from the end.
 */
export async function runPowerLosses(options: {
  losses: number;
  durability: Durability;
  seed: number;
  onRound?: (round: number) => void;
}): Promise<PowerReport> {
  const { losses, durability, seed } = options;
  const report: PowerReport = { losses: 0, acknowledged: 0, lost: 0, problems: [] };
  const folder = mkdtempSync(join(tmpdir(), "selvedge-power-"));
  try {
    const recorder = buildRecorder(folder);
    if ("reason" in recorder) return { ...report, skipped: recorder.reason };
    while (report.losses < losses && report.problems.length === 0) {
      const record = await recordWork(recorder.path, durability, seed);
      const { random } = record.session;
      try {
        for (let loss = 0; loss < LOSSES_PER_RECORD && report.losses < losses; loss++) {
          // Anywhere, and now and then at the very end, where nothing may be missing.
          const { length } = record.disk;
          const moment = random.chance(0.1) ? length : random.between(0, length - 1);
          await lose(record, moment, durability, report);
          report.losses++;
          options.onRound?.(report.losses);
          if (report.problems.length > 0) break;
        }
      } finally {
        await record.session.close();
      }
    }
    return report;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Recorded {
  session: Session;
  disk: Disk;
  marks: string;
}

async function recordWork(recorder: string, durability: Durability, seed: number): Promise<Recorded> {
  const session = await Session.open({ factory: libsqlStore(durability), seed, threads: 4 });
  const marks = join(session.folder, "marks.txt");
  const log = `${session.folder}.log`;
  const { folder } = session;
  const child = new ChildHandle(
    { ...session.config, marks, lease: LEASE, chunkDelayMs: 0 },
    { LD_PRELOAD: recorder, POWER_FOLDER: folder, POWER_LOG: log },
  );
  try {
    if (!(await child.ready)) throw new Error("The recorded process did not start");
    for (let message = 0; message < MESSAGES; message++) {
      const threadId = session.threads[message % session.threads.length]!;
      const api = message % 5 === 0 ? "queue" : "message";
      await session.send(child, threadId, TOOLS[message % TOOLS.length]!, api, false);
    }
    await delay(300);
    await child.kill();
    return { session, disk: new Disk(log), marks };
  } finally {
    await child.kill();
    rmSync(log, { force: true });
  }
}

async function lose(
  { session: before, disk, marks }: Recorded,
  moment: number,
  durability: Durability,
  report: PowerReport,
): Promise<void> {
  const { random } = before;
  // The process that starts on it waits for no disk: what counts is what was found.
  const session = await Session.open({
    factory: libsqlStore(),
    seed: random.between(1, 2 ** 31),
    threads: 4,
  });
  const file = fileIn(session.folder);
  const fail = (problem: string) => report.problems.push(`at ${moment} of ${disk.length}: ${problem}`);
  try {
    for (const suffix of ["", "-wal"]) {
      const found = disk.survived(`${fileIn(before.folder)}${suffix}`, moment, () => random.next());
      if (found) writeFileSync(`${file}${suffix}`, found);
    }
    // What tools did and what was answered happened in the world outside, which had no power failure.
    writeFileSync(session.effects, disk.seen(before.effects, moment));
    const acknowledged = new Set(disk.seen(marks, moment).toString().split("\n").filter(Boolean));
    report.acknowledged += acknowledged.size;
    const integrity = checkIntegrity(file);
    if (integrity !== "ok") return void fail(`the file is not sound: ${integrity}`);
    const { mastra, storage } = await openApp({ ...session.config, lease: LEASE, chunkDelayMs: 0 });
    try {
      await mastra.start();
      await session.rest([], () => true);
    } finally {
      await mastra.close();
      await storage.close();
    }
    const found = await tokensIn(session);
    const missing = [...acknowledged].filter((token) => !found.has(token));
    report.lost += missing.length;
    if (durability === "power-safe") {
      for (const sent of before.sent)
        session.sent.push({ ...sent, acknowledged: acknowledged.has(sent.token) });
      for (const problem of await session.problems()) fail(problem);
    } else {
      const rest = [...acknowledged].slice([...acknowledged].indexOf(missing[0] ?? ""));
      if (missing.length > 0 && missing.length !== rest.length)
        fail(`${missing.join()} are missing, and later ones are not`);
    }
  } catch (error) {
    fail(`I12 ${String(error)}`);
  } finally {
    await session.close();
  }
}

/** Asked of another build of SQLite than the one that wrote the file. */
function checkIntegrity(file: string): string {
  const database = new DatabaseSync(file);
  try {
    return String(Object.values(database.prepare("pragma integrity_check").get() ?? {})[0]);
  } finally {
    database.close();
  }
}

async function tokensIn(session: Session): Promise<Set<string>> {
  const memory = (await session.store.getStore("memory"))!;
  const tokens = new Set<string>();
  for (const threadId of session.threads) {
    for (const { role, content } of await memory.recentMessages({ threadId, limit: 100_000 })) {
      for (const part of content.parts)
        if (role !== "assistant" && part.type === "text") tokens.add(part.text.split(" ")[0]!);
    }
  }
  return tokens;
}
