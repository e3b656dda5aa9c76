import { Driver } from "./driver.ts";
import type { GraphScope } from "./graph.ts";
import { Journal, type StepRecord } from "./journal.ts";
import { hasPlace } from "./path.ts";
import type { RunImage } from "./run-image.ts";

/**
 * What is known of a run, with the steps that are being executed. Those are not stored until they are done, so they are
 * found from what is. Each is shown as begun when the last result before it was stored.
 */
export function withActiveSteps(rules: GraphScope, image: RunImage): RunImage {
  const { input, records, status, options, createdAt } = image;
  if (status !== "running" || !records.every(({ path }) => hasPlace(rules.graph, path))) return image;
  const journal = new Journal(records);
  const startedAt = records.reduce(
    (last, { endedAt = 0, resumedAt = 0 }) => Math.max(last, endedAt, resumedAt),
    createdAt,
  );
  const budget = options.perStep ? { budget: 1 } : {};
  const driver = new Driver(rules, input, (path) => journal.stored(path), budget);
  const active: StepRecord[] = [];
  let number = journal.nextNumber();
  for (let { ready } = driver.take(); ready.length > 0; { ready } = driver.take())
    for (const work of ready) {
      if (work.kind === "enter") driver.succeeded(work.path, work.input);
      else if (work.kind === "step" && !journal.get(work.path))
        active.push({
          path: work.path,
          number: number++,
          status: "running",
          attempt: 1,
          input: work.input,
          startedAt,
        });
    }
  return { ...image, records: [...records, ...active] };
}
