import { readFile, writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { describeFailure, runSimulation, THREAD_WORLDS, WORKFLOW_WORLDS } from "@selvedge/testing/simulator";
import { MEMORY_WORLDS } from "../e2e/om/simulate-om.ts";
import { findPins, type Pins } from "../packages/testing/src/simulator/__fixtures__/find-pins.ts";

const USAGE = `npm run sim -- [options]

Runs simulated worlds and checks the guarantees after every step.

  --seeds <n>        how many worlds (default 2000)
  --from <n>         the first seed (default 1)
  --seed <n>         replays one world
  --trace            with --seed: prints every event
  --violations <n>   stops after this many (default 1)
  --workflows        worlds with generated workflows
  --memory           worlds with observational memory
  --pin              records which worlds lead to each state and each planted fault

Exits with 1 if a guarantee was violated.`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean", short: "h", default: false },
    seeds: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    trace: { type: "boolean", default: false },
    violations: { type: "string", default: "1" },
    pin: { type: "boolean", default: false },
    workflows: { type: "boolean", default: false },
    memory: { type: "boolean", default: false },
  },
});
const kind = values.workflows ? WORKFLOW_WORLDS : values.memory ? MEMORY_WORLDS : THREAD_WORLDS;

if (values.help) console.log(USAGE);
else if (values.pin) await pin(Number(values.seeds));
else if (values.seed !== undefined) await replay(Number(values.seed), values.trace);
else await run(Number(values.seeds), Number(values.from), Number(values.violations));

/** Writes down which worlds take the tests straight to every listed state and every planted fault. */
async function pin(seeds: number): Promise<void> {
  const file = new URL("../packages/testing/src/simulator/__fixtures__/pins.json", import.meta.url);
  const pinned = JSON.parse(await readFile(file, "utf8")) as Pins;
  const pins = await findPins(pinned, seeds, (line) =>
    process.stderr.write(`\r${line.slice(0, 78).padEnd(78)}`),
  );
  const text = JSON.stringify({ ...pins, states: "here" }, null, 2);
  await writeFile(file, `${text.replace('"here"', `[${pins.states.join(", ")}]`)}\n`);
  process.stderr.write("\n");
  console.log(
    `${pins.states.length} worlds for the states, ${Object.keys(pins.faults).length} for the faults`,
  );
}

async function replay(seed: number, trace: boolean): Promise<void> {
  const result = await kind.simulate(seed, { trace });
  for (const event of result.trace ?? []) console.log(event);
  console.log(
    `seed ${seed}: ${result.steps} steps, ${Math.round(result.virtualMs / 1000)} s of its own time`,
  );
  console.log(result.violation ? result.violation.message : "everything held");
  if (result.violation) process.exitCode = 1;
}

async function run(seeds: number, from: number, maxViolations: number): Promise<void> {
  const began = performance.now();
  let shown = 0;
  const report = await runSimulation({
    seeds,
    from,
    maxViolations,
    kind,
    onProgress({ done, violations }) {
      const now = performance.now();
      if (now - shown < 1_000 && done < seeds) return;
      shown = now;
      const rate = (done / (now - began)) * 1_000;
      process.stderr.write(
        `\r${done} of ${seeds} worlds, ${rate.toFixed(0)} a second, ${violations} violations `,
      );
    },
  });
  process.stderr.write("\n");
  for (const failure of report.failures) console.log(`${describeFailure(failure)}\n`);
  for (const [state, worlds] of [...report.reached].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    console.log(`${String(worlds).padStart(8)}  ${state}`);
  }
  const hours = report.virtualMs / 3_600_000;
  console.log(
    `${report.worlds} worlds from seed ${from}, ${report.steps} steps, ${hours.toFixed(1)} hours of their own time`,
  );
  console.log(report.failures.length === 0 ? "everything held" : `${report.failures.length} violations`);
  if (report.failures.length > 0) process.exitCode = 1;
}
