import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { commitSeed } from "../packages/testing/src/simulator/__fixtures__/commit-seed.ts";
import { type Progress, type ProofRow, runProof, type Wanted } from "../e2e/proof/run-proof.ts";
import { trialOf, TRIALS, type TrialName } from "../e2e/proof/trials.ts";
import { startPostgres } from "../packages/pg/src/__fixtures__/embedded-server.ts";

const USAGE = `npm run proof -- [options]

Runs the simulator, kills, pauses, power losses and races for long, and prints one table.

  --scale <n>       multiply every number of rounds (default 1; 0.01 takes a minute)
  --only <names>    these trials only, separated by commas: ${Object.keys(TRIALS).join(", ")}
  --<trial> <n>     rounds of one trial, for instance --kills 500
  --seed <n>        the first seed (default: from the commit)
  --workers <n>     processes (default: one for each core)
  --postgres <n>    share of the rounds that also runs on PostgreSQL (default 0.1; 0 leaves it out);
                    only: all rounds, and nothing that needs no PostgreSQL server
  --minutes <n>     take turns at the trials for this long, instead of a number of rounds

Exits with 1 when something was found.`;

const ROUNDS: Record<TrialName, number> = {
  worlds: 50_000,
  "workflow-worlds": 50_000,
  "workflow-kills": 500,
  "workflow-races": 500,
  traces: 200,
  "om-worlds": 20_000,
  "om-kills": 150,
  kills: 500,
  dispatches: 150,
  edits: 500,
  "session-kills": 200,
  takeovers: 100,
  pauses: 200,
  "server-faults": 120,
  failovers: 8,
  sessions: 20,
  losses: 400,
  races: 6_000,
};
const NAMES = Object.keys(ROUNDS) as TrialName[];
/** These start their own PostgreSQL servers, to harm them. */
const ON_A_SERVER: ReadonlySet<TrialName> = new Set(["server-faults", "failovers"]);

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h", default: false },
    scale: { type: "string", default: "1" },
    only: { type: "string", default: NAMES.join() },
    seed: { type: "string", default: String(commitSeed()) },
    workers: { type: "string", default: String(availableParallelism()) },
    postgres: { type: "string", default: "0.1" },
    minutes: { type: "string" },
    ...(Object.fromEntries(NAMES.map((name) => [name, { type: "string" }])) as Record<
      TrialName,
      { type: "string" }
    >),
  },
});

if (values.help) console.log(USAGE);
else await prove();

async function prove(): Promise<void> {
  const scale = toNumber("scale");
  const onlyPostgres = values.postgres === "only";
  const share = onlyPostgres ? 1 : toNumber("postgres");
  const minutes = values.minutes === undefined ? undefined : toNumber("minutes");
  const only = values.only.split(",");
  const unknown = only.filter((name) => !(NAMES as string[]).includes(name));
  if (unknown.length > 0) throw new Error(`--only accepts ${NAMES.join()}, got ${unknown.join()}`);
  const usual = (trial: TrialName): number =>
    minutes === undefined ? ROUNDS[trial] * scale : Number.POSITIVE_INFINITY;
  const rounds = (trial: TrialName): number =>
    Math.ceil(values[trial] === undefined ? usual(trial) : toNumber(trial));
  const chosen = NAMES.filter((trial) => only.includes(trial) && rounds(trial) > 0);
  const onStores = chosen.filter((trial) => trialOf(trial).stores);
  const wanted: Wanted[] = chosen
    .filter((trial) => !onlyPostgres || ON_A_SERVER.has(trial))
    .map((trial) => ({ trial, rounds: rounds(trial) }));
  const server = share > 0 && onStores.length > 0 ? await startPostgres() : undefined;
  if (server && "connectionString" in server) {
    const { connectionString: postgres } = server;
    for (const trial of onStores) wanted.push({ trial, rounds: Math.ceil(rounds(trial) * share), postgres });
  }
  const began = performance.now();
  try {
    const rows = await runProof({
      wanted,
      seed: toNumber("seed"),
      workers: toNumber("workers"),
      ...(minutes !== undefined && { hasTime: () => performance.now() - began < minutes * 60_000 }),
      onProgress: showProgress(),
    });
    process.stderr.write("\n");
    print(rows, performance.now() - began);
    if (server && "missing" in server) console.log(`\nPostgreSQL was left out: ${server.missing}`);
  } finally {
    if (server && "stop" in server) await server.stop();
  }
}

/** At most one line a second, and in a log no more than one a minute. */
function showProgress(): (progress: Progress) => void {
  const isTerminal = process.stderr.isTTY;
  let shown = 0;
  return ({ title, done, wanted, problems }) => {
    const now = performance.now();
    if (shown > 0 && now - shown < (isTerminal ? 1_000 : 60_000)) return;
    shown = now;
    const end = Number.isFinite(wanted) ? ` of ${wanted}` : "";
    const line = `${title}: ${done}${end}; ${problems} found`;
    process.stderr.write(isTerminal ? `\r${line.padEnd(78)}` : `${line}\n`);
  };
}

function print(rows: readonly ProofRow[], ms: number): void {
  const head = ["trial", "store", "rounds", "found", "seeds", "figures"];
  const lines = rows.map((row) => [
    trialOf(row.trial).title,
    row.store,
    row.skipped === undefined ? row.rounds.toLocaleString("en") : "skipped",
    String(row.problems.length),
    `${row.seeds.from}-${row.seeds.to}`,
    row.skipped ??
      Object.entries(row.figures)
        .map(([name, figure]) => `${name} ${Math.round(figure).toLocaleString("en")}`)
        .join(", "),
  ]);
  const widths = head.map((title, index) =>
    Math.max(title.length, ...lines.map((line) => line[index]!.length)),
  );
  const show = (cells: readonly string[]): string =>
    `| ${cells.map((cell, index) => cell.padEnd(widths[index]!)).join(" | ")} |`;
  console.log([show(head), show(widths.map((width) => "-".repeat(width))), ...lines.map(show)].join("\n"));
  const problems = rows.flatMap((row) =>
    row.problems.map((problem) => `${trialOf(row.trial).title}, ${row.store}, ${problem}`),
  );
  for (const problem of problems) console.log(`\n${problem}`);
  const minutes = (ms / 60_000).toFixed(1);
  console.log(`\nCommit ${commit()}, ${minutes} minutes: ${problems.length || "nothing"} found.`);
  if (problems.length > 0) process.exitCode = 1;
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8", stdio: "pipe" }).trim();
  } catch {
    return "unknown";
  }
}

function toNumber(name: keyof typeof values): number {
  const number = Number(values[name]);
  if (!Number.isFinite(number) || number < 0)
    throw new Error(`--${name} must be a number, got ${values[name]}`);
  return number;
}
