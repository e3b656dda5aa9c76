import type { WireWorkflowState } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { formatDuration } from "../format.ts";
import { CopyButton } from "../ui/copy-button.tsx";
import { Fact } from "../ui/fact.tsx";
import { Payload } from "../ui/payload.tsx";
import { Time } from "../ui/time.tsx";
import { ErrorNote } from "./error-note.tsx";
import { WorkflowRunBadge } from "./status-badge.tsx";
import { hasEnded } from "./step-state.ts";

/** A run as a whole: when, with what input, and what came of it. */
export function RunDetail({ run }: { run: WireWorkflowState }): ReactNode {
  const took = new Date(run.updatedAt).getTime() - new Date(run.createdAt).getTime();
  return (
    <section className="card panel stack" aria-label="The run">
      <div className="row run-head">
        <h2 className="section-title">Run</h2>
        <span className="mono small muted truncate">{run.runId}</span>
        <CopyButton label="Copy the id of this run" text={() => run.runId} />
        <span className="grow" />
        <WorkflowRunBadge status={run.status} />
      </div>
      <dl className="facts">
        <Fact name="Created">
          <Time at={run.createdAt} />
        </Fact>
        {hasEnded(run.status) && <Fact name="Took">{formatDuration(took)}</Fact>}
        {run.resourceId !== undefined && <Fact name="Resource">{run.resourceId}</Fact>}
      </dl>
      {run.error !== undefined && run.error !== null && <ErrorNote error={run.error} />}
      {run.result !== undefined && <Payload name="Result" value={run.result} />}
      {run.payload !== undefined && <Payload name="Input" value={run.payload} />}
    </section>
  );
}
