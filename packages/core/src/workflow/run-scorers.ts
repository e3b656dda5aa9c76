import { scoreLive } from "../scorer/score-live.ts";
import type { RunSpec } from "./run-actor.ts";
import { meetsFilter } from "./score-filter.ts";
import type { Step } from "./step.ts";

/** Scores a step that succeeded. Never delays or fails the run. */
export function runScorers(run: RunSpec, step: Step, input: unknown, output: unknown): void {
  const { requestContext, runId, resourceId, logger, host } = run;
  void scoreLive(step.scorers as Parameters<typeof scoreLive>[0], {
    owner: `step "${step.id}"`,
    runId,
    entityId: step.id,
    entityType: "STEP",
    resourceId,
    requestContext,
    input,
    output,
    storage: host?.getStorage(),
    logger,
    findScorer: host?.getScorerById && ((id) => host.getScorerById!(id)),
    meets: meetsFilter,
  });
}
