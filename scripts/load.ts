import { parseArgs } from "node:util";
import { disconnects, fanOut, type Finding, stalled } from "../e2e/load/scenarios.ts";

const { values } = parseArgs({
  options: {
    only: { type: "string" },
    readers: { type: "string", default: "200" },
    stalled: { type: "string", default: "20" },
    cuts: { type: "string", default: "1000" },
    seed: { type: "string", default: "1" },
  },
});

const scenarios: Record<string, () => Promise<Finding>> = {
  "fan-out": () => fanOut({ readers: Number(values.readers), chunks: 1000, rounds: 3 }),
  stalled: () => stalled({ readers: Number(values.stalled), chunks: 100_000 }),
  disconnects: () => disconnects({ cuts: Number(values.cuts), readers: 20, seed: Number(values.seed) }),
};

for (const [name, run] of Object.entries(scenarios)) {
  if (values.only !== undefined && values.only !== name) continue;
  const finding = await run();
  console.log(`${finding.held ? "held  " : "BROKEN"}  ${finding.name}: ${finding.figures}`);
  if (!finding.held) process.exitCode = 1;
}
