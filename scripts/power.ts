import { parseArgs } from "node:util";
import { runPowerLosses } from "../e2e/power/run-power-losses.ts";

const { values } = parseArgs({ options: { losses: { type: "string", default: "20" } } });
const losses = Number(values.losses);
if (!Number.isInteger(losses) || losses < 1) throw new Error(`--losses takes a number, got ${values.losses}`);
for (const durability of ["power-safe", "process-safe"] as const) {
  const report = await runPowerLosses({
    losses,
    durability,
    onLoss: (loss) => process.stderr.write(`\r${loss} of ${losses} losses, ${durability}   `),
  });
  process.stderr.write("\n");
  console.log(durability, report);
  if (report.problems.length > 0) process.exitCode = 1;
}
