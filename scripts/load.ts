import { parseArgs } from "node:util";
import { disconnects, fanOut, type Finding, stalled } from "../e2e/load/scenarios.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    readers: { type: "string" },
    stalled: { type: "string" },
    cuts: { type: "string" },
    seed: { type: "string", default: "1" },
  },
});

/** What is promised; and a form of it in seconds, which shows that a promise broke and not by how much it holds. */
const FULL = {
  fanOut: { readers: 200, chunks: 1000, rounds: 3, bar: 1.2 },
  stalled: { readers: 20, chunks: 100_000, chunkBytes: 100, megabytes: 60 },
  disconnects: { cuts: 1000, readers: 20, chunks: 1500 },
};
const QUICK: typeof FULL = {
  fanOut: { readers: 60, chunks: 300, rounds: 1, bar: 2 },
  // More than the buffers of the sockets take.
  stalled: { readers: 10, chunks: 30_000, chunkBytes: 100, megabytes: 30 },
  disconnects: { cuts: 200, readers: 10, chunks: 500 },
};

const sizes = values.quick ? QUICK : FULL;
const given = (name: "readers" | "stalled" | "cuts", usual: number): number => Number(values[name] ?? usual);
const scenarios: Record<string, () => Promise<Finding>> = {
  "fan-out": () => fanOut({ ...sizes.fanOut, readers: given("readers", sizes.fanOut.readers) }),
  stalled: () => stalled({ ...sizes.stalled, readers: given("stalled", sizes.stalled.readers) }),
  disconnects: () =>
    disconnects({
      ...sizes.disconnects,
      cuts: given("cuts", sizes.disconnects.cuts),
      seed: Number(values.seed),
    }),
};
if (values.only !== undefined && !Object.hasOwn(scenarios, values.only))
  throw new Error(`--only takes ${Object.keys(scenarios).join(", ")}; got ${JSON.stringify(values.only)}.`);

/** A promise that broke may also show as something that never comes. */
const LONGEST_MS = values.quick ? 90_000 : 900_000;

for (const [name, run] of Object.entries(scenarios)) {
  if (values.only !== undefined && values.only !== name) continue;
  const deadline = setTimeout(() => {
    console.log(`BROKEN  ${name}: not over after ${LONGEST_MS / 1000} s`);
    // The servers end with their parent.
    process.exit(1);
  }, LONGEST_MS);
  let finding = await run();
  // Time and memory of one short run say little on a machine with other work; a lost number says all.
  if (values.quick && !finding.held && finding.whole) {
    console.log(`again   ${finding.name}: ${finding.figures}`);
    finding = await run();
  }
  clearTimeout(deadline);
  console.log(`${finding.held ? "held  " : "BROKEN"}  ${finding.name}: ${finding.figures}`);
  if (!finding.held) process.exitCode = 1;
}
