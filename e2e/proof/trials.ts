import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { InMemoryStorage } from "@selvedge/core/storage";
import {
  describeFailure,
  type KindOfWorld,
  Random,
  runSimulation,
  THREAD_WORLDS,
  WORKFLOW_WORLDS,
} from "@selvedge/testing/simulator";
import { startPostgres } from "../../packages/pg/src/__fixtures__/embedded-server.ts";
import { runSessionKills } from "../controller/run-session-kills.ts";
import { runTwoServers } from "../controller/run-two-servers.ts";
import { runFailovers } from "../failover/run-failovers.ts";
import { libsqlStore } from "../kill/libsql-store.ts";
import { postgresStore } from "../kill/postgres-store.ts";
import { runDispatches } from "../kill/run-dispatches.ts";
import { runEdits } from "../kill/run-edits.ts";
import { runKills } from "../kill/run-kills.ts";
import { runPauses } from "../kill/run-pauses.ts";
import { HARMS, runServerFaults } from "../kill/run-server-faults.ts";
import { runTakeovers } from "../kill/run-takeovers.ts";
import { openStore, type StoreFactory } from "../kill/store-factory.ts";
import { runOmKills } from "../om/run-om-kills.ts";
import { MEMORY_WORLDS } from "../om/simulate-om.ts";
import { runPowerLosses } from "../power/run-power-losses.ts";
import { type Moment, runRaces } from "../race/run-races.ts";
import { compareTraces } from "../traces/compare-traces.ts";
import { FLOWS } from "../workflow/flows.ts";
import { runWorkflowKills } from "../workflow/run-workflow-kills.ts";
import { runWorkflowRaces } from "../workflow/run-workflow-races.ts";

/** A part of a trial: so many rounds, from one seed. Plain data, because another process carries it out. */
export interface Job {
  trial: TrialName;
  rounds: number;
  seed: number;
  /** A PostgreSQL server to use instead of a file. */
  postgres?: string;
}

export interface Outcome {
  rounds: number;
  problems: string[];
  /** Counts are added up over the jobs of a trial. Of what begins with `slowest` the greatest is kept. */
  figures: Record<string, number>;
  skipped?: string;
}

interface Trial {
  title: string;
  /** Rounds in one job. A finding ends its job, and the other jobs go on. */
  batch: number;
  /** Runs on a chosen store. */
  stores?: boolean;
  run(job: Job, onRound: (round: number) => void): Promise<Outcome>;
}

export const TRIALS = {
  worlds: worldTrial("simulated worlds", THREAD_WORLDS),
  "workflow-worlds": worldTrial("simulated worlds with workflows", WORKFLOW_WORLDS),
  "workflow-kills": {
    title: "kills in workflow runs",
    batch: 25,
    stores: true,
    async run(job, onRound) {
      const { rounds, seed } = job;
      const report = await runWorkflowKills({
        factory: storeOf(job),
        flows: FLOWS,
        kills: rounds,
        seed,
        onRound,
      });
      const { kills, points, problems } = report;
      return { rounds: kills, problems, figures: { "kinds of points": points.size } };
    },
  },
  "workflow-races": {
    title: "resumes of one step through two processes",
    batch: 50,
    stores: true,
    async run(job) {
      const { rounds: wanted, seed } = job;
      const { rounds, problems } = await runWorkflowRaces({ factory: storeOf(job), rounds: wanted, seed });
      return { rounds, problems, figures: {} };
    },
  },
  traces: {
    title: "worlds that are the same on every store",
    batch: 20,
    async run({ rounds, seed }, onRound) {
      const server = await startPostgres();
      if ("missing" in server) return { rounds: 0, problems: [], figures: {}, skipped: server.missing };
      const { connectionString } = server;
      const { worlds, problems } = await compareTraces({
        connectionString,
        seeds: rounds,
        from: seed,
        onRound,
      });
      await server.stop();
      return { rounds: worlds, problems, figures: {} };
    },
  },
  "om-worlds": worldTrial("simulated worlds with observational memory", MEMORY_WORLDS),
  "om-kills": {
    title: "kills in the work of observational memory",
    batch: 30,
    async run({ rounds, seed }, onRound) {
      const folder = mkdtempSync(join(tmpdir(), "selvedge-om-"));
      try {
        const url = `file:${join(folder, "om.db")}`;
        const { kills, problems } = await runOmKills({ url, rounds, seed, onRound });
        return { rounds, problems, figures: { "at a point": kills } };
      } finally {
        rmSync(folder, { recursive: true });
      }
    },
  },
  kills: {
    title: "kills of a process",
    batch: 25,
    stores: true,
    async run(job, onRound) {
      const factory = storeOf(job);
      const report = await runKills({ factory, kills: job.rounds, seed: job.seed, onRound });
      const { kills, atPoint, acknowledged, slowestMs, problems } = report;
      const figures = { "at a point": atPoint, acknowledged, "slowest ms": slowestMs };
      return { rounds: kills, problems, figures };
    },
  },
  dispatches: {
    title: "kills of a dispatcher",
    batch: 15,
    stores: true,
    async run(job, onRound) {
      const factory = storeOf(job);
      const report = await runDispatches({ factory, kills: job.rounds, seed: job.seed, onRound });
      const { kills, atPoint, acknowledged, problems } = report;
      return { rounds: kills, problems, figures: { "at a point": atPoint, acknowledged } };
    },
  },
  edits: {
    title: "kills during changes to files",
    batch: 25,
    async run({ rounds, seed }, onRound) {
      const { kills, foreign, problems } = await runEdits({ kills: rounds, seed, onRound });
      return { rounds: kills, problems, figures: { "with another writer": foreign } };
    },
  },
  "session-kills": {
    title: "kills of a session",
    batch: 10,
    async run({ rounds, seed }, onRound) {
      const { kills, atPoint, problems } = await runSessionKills({ kills: rounds, seed, onRound });
      return { rounds: kills, problems, figures: { "at a point": atPoint } };
    },
  },
  takeovers: {
    title: "processes that stay dead",
    batch: 10,
    stores: true,
    async run(job, onRound) {
      const { rounds: count, seed } = job;
      const report = await runTakeovers({ factory: storeOf(job), rounds: count, seed, onRound });
      const { rounds, takeovers, slowestMs, problems } = report;
      return { rounds, problems, figures: { takeovers, "slowest ms": slowestMs } };
    },
  },
  pauses: {
    title: "pauses past the lease",
    batch: 20,
    stores: true,
    async run(job, onRound) {
      const processes = job.seed % 2 === 0 ? 2 : 3;
      const options = {
        factory: storeOf(job),
        rounds: job.rounds,
        processes,
        seed: job.seed,
        onRound,
      } as const;
      const { rounds, takeovers, slowestTakeoverMs, problems } = await runPauses(options);
      return { rounds, problems, figures: { takeovers, "slowest ms": slowestTakeoverMs } };
    },
  },
  "server-faults": {
    title: "faults of a PostgreSQL server",
    batch: 20,
    async run({ rounds, seed }, onRound) {
      const harm = HARMS[Math.floor(seed / 20) % HARMS.length]!;
      const report = await runServerFaults({
        harm,
        harms: harm === "cut" ? 10 * rounds : rounds,
        seed,
        onRound,
      });
      const { harms, acknowledged, slowestMs, problems, skipped } = report;
      const figures = { [harm]: harms, acknowledged, "slowest ms": slowestMs };
      return { rounds, problems, figures, ...(skipped && { skipped }) };
    },
  },
  failovers: {
    title: "failovers to a standby",
    batch: 2,
    async run({ rounds, seed }, onRound) {
      const isSynchronous = Math.floor(seed / 2) % 2 === 0;
      const report = await runFailovers({ isSynchronous, rounds, seed, onRound });
      const { failovers, acknowledged, lost, slowestPauseMs, problems, skipped } = report;
      const figures = {
        synchronous: isSynchronous ? failovers : 0,
        acknowledged,
        lost,
        "slowest ms": slowestPauseMs,
      };
      return { rounds: failovers, problems, figures, ...(skipped && { skipped }) };
    },
  },
  sessions: {
    title: "a session on two servers",
    batch: 20,
    async run({ rounds: wanted, seed }, onRound) {
      const { rounds, problems } = await runTwoServers({ rounds: wanted, seed, onRound });
      return { rounds, problems, figures: {} };
    },
  },
  losses: {
    title: "power losses",
    batch: 40,
    async run({ rounds, seed }, onRound) {
      const report = await runPowerLosses({ losses: rounds, durability: "power-safe", seed, onRound });
      const { losses, acknowledged, lost, problems, skipped } = report;
      return { rounds: losses, problems, figures: { acknowledged, lost }, ...(skipped && { skipped }) };
    },
  },
  races: {
    title: "messages as a run ends",
    batch: 300,
    stores: true,
    async run({ rounds, seed, postgres }, onRound) {
      const random = new Random(seed);
      const moments = Array.from({ length: rounds }, (): Moment =>
        random.chance(0.5) ? { operation: random.between(0, 39) } : { turns: random.between(0, 199) },
      );
      const folder = mkdtempSync(join(tmpdir(), "selvedge-races-"));
      const inMemory = postgres === undefined && random.chance(0.7);
      const factory = postgres === undefined ? libsqlStore() : postgresStore(postgres);
      const place = await factory.create(folder);
      const store = inMemory ? new InMemoryStorage() : await openStore(place);
      const elsewhere = !inMemory && random.chance(0.7) ? await openStore(place) : undefined;
      const { races, problems } = await runRaces({
        store,
        ...(elsewhere && { elsewhere }),
        moments,
        onRound,
      });
      rmSync(folder, { recursive: true, force: true });
      return { rounds: races, problems, figures: { "from elsewhere": elsewhere ? races : 0 } };
    },
  },
} satisfies Record<string, Trial>;

export type TrialName = keyof typeof TRIALS;

export function trialOf(name: TrialName): Trial {
  return TRIALS[name];
}

function worldTrial(title: string, kind: KindOfWorld): Trial {
  return {
    title,
    batch: 250,
    async run({ rounds, seed }, onRound) {
      const report = await runSimulation({
        seeds: rounds,
        from: seed,
        maxViolations: 3,
        kind,
        onProgress: ({ done }) => onRound(done),
      });
      const { worlds, steps, virtualMs, failures } = report;
      const figures = { steps, "hours of their time": virtualMs / 3_600_000 };
      return { rounds: worlds, problems: failures.map(describeFailure), figures };
    },
  };
}

function storeOf({ postgres }: Job): StoreFactory {
  return postgres === undefined ? libsqlStore() : postgresStore(postgres);
}
