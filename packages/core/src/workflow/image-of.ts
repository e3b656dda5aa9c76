import type { RunActor } from "./run-actor.ts";
import type { RunImage } from "./run-image.ts";
import type { Rest } from "./run-port.ts";
import type { Definition } from "./workflow-engine.ts";

/** A run as it came to rest. */
export function imageOf(definition: Definition, actor: RunActor, rest: Rest, now: number): RunImage {
  const { runId, resourceId, input, requestContext } = actor.run;
  return {
    runId,
    workflowId: definition.id,
    resourceId,
    status: rest.status,
    input,
    records: actor.journal.all(),
    state: new Map(Object.entries(actor.state())),
    once: actor.onceResults,
    result: rest.result,
    error: rest.error,
    tripwire: rest.tripwire,
    usage: actor.usage,
    requestContext: requestContext.toJSON(),
    options: {},
    graph: definition.serializedStepGraph,
    fence: 0,
    nextSeq: 1,
    firstSeq: actor.run.firstSeq,
    isOwned: false,
    createdAt: now,
    updatedAt: now,
  };
}
