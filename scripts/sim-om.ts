import { simulateOm } from "../e2e/om/simulate-om.ts";

/** Simulated worlds with observational memory: `npm run sim:om -- <from> <seeds> [trace]`. */
const [from = 1, seeds = 100] = process.argv.slice(2).map(Number);
const isTraced = process.argv.includes("trace");
const reached = new Map<string, number>();
let violations = 0;
let steps = 0;
for (let seed = from; seed < from + seeds && violations < 5; seed++) {
  const result = await simulateOm(seed, { trace: isTraced });
  steps += result.steps;
  for (const state of result.reached) reached.set(state, (reached.get(state) ?? 0) + 1);
  if (!result.violation) continue;
  violations++;
  console.log(`seed ${seed}: ${result.violation.message}`);
  if (isTraced) console.log(result.trace!.slice(-400).join("\n"));
}
for (const [state, count] of reached) console.log(String(count).padStart(6), state);
console.log(`${seeds} worlds from seed ${from}, ${steps} steps, ${violations} violations`);
process.exit(violations > 0 ? 1 : 0);
