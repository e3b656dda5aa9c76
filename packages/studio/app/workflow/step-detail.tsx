import type { WorkflowRunStatus, WorkflowStepResult } from "@selvedge/protocol";
import type { WorkflowInfo } from "@selvedge/protocol/routes";
import type { ReactNode } from "react";
import { formatDuration } from "../format.ts";
import { Fact } from "../ui/fact.tsx";
import { Icon } from "../ui/icon.tsx";
import { Payload } from "../ui/payload.tsx";
import { Time } from "../ui/time.tsx";
import { ErrorNote } from "./error-note.tsx";
import type { OutlineSleep, OutlineStep } from "./outline.ts";
import type { RunDoer } from "./run-doer.ts";
import { ResumeForm } from "./resume-form.tsx";
import { StepBadge } from "./status-badge.tsx";
import { stepIcon } from "./step-icon.ts";
import { durationOf } from "./step-note.ts";
import { hasEnded, type StepState } from "./step-state.ts";
import { TimeTravelForm } from "./time-travel-form.tsx";

type Info = WorkflowInfo["steps"][string] | undefined;

/** Everything about one step of a run, and what a person can do about it. */
export function StepDetail({
  node,
  info,
  result,
  state,
  output,
  run,
  runStatus,
}: {
  node: OutlineStep | OutlineSleep;
  info: Info;
  result: WorkflowStepResult | undefined;
  state: StepState;
  /** What the step has written while it ran. */
  output: string | undefined;
  run: RunDoer;
  runStatus: WorkflowRunStatus;
}): ReactNode {
  const canTravel =
    node.kind === "step" && (hasEnded(runStatus) || runStatus === "suspended" || runStatus === "paused");
  return (
    <section className="card panel stack" aria-label={`Step ${node.label}`}>
      <div className="row">
        <Icon name={stepIcon(node)} />
        <h2 className="section-title grow truncate">{node.label}</h2>
        <StepBadge state={state} />
      </div>
      {node.kind === "step" && node.description !== undefined && (
        <p className="small muted">{node.description}</p>
      )}
      {result && <StepFacts result={result} />}
      {result?.status === "failed" && <ErrorNote error={result.error} />}
      {state === "suspended" && result && (
        <ResumeForm
          key={`${node.key} ${result.suspendedAt ?? ""}`}
          label={node.label}
          stepKey={node.key}
          schema={info?.resumeSchema}
          payload={result.suspendPayload}
          perItem={node.kind === "step" && node.perItem === true}
          run={run}
        />
      )}
      {output !== undefined && result?.status !== "success" && (
        <Payload name="Text of this step" value={output} />
      )}
      {result && <StepValues result={result} state={state} />}
      {!result && (
        <p className="small muted">
          {state === "unused" ? "This step did not run." : "This step has not started."}
        </p>
      )}
      {canTravel && (
        <TimeTravelForm
          key={node.key}
          label={node.label}
          stepKey={node.key}
          schema={info?.inputSchema}
          payload={result?.payload}
          run={run}
        />
      )}
    </section>
  );
}

function StepFacts({ result }: { result: WorkflowStepResult }): ReactNode {
  const took = durationOf(result);
  return (
    <dl className="facts">
      <Fact name="Started">
        <Time at={toIso(result.startedAt)} />
      </Fact>
      {took !== undefined && <Fact name="Took">{formatDuration(took)}</Fact>}
      <Fact name="Attempts">{result.attempt ?? 1}</Fact>
      {result.suspendedAt !== undefined && (
        <Fact name="Suspended">
          <Time at={toIso(result.suspendedAt)} />
        </Fact>
      )}
      {result.resumedAt !== undefined && (
        <Fact name="Resumed">
          <Time at={toIso(result.resumedAt)} />
        </Fact>
      )}
    </dl>
  );
}

function StepValues({ result, state }: { result: WorkflowStepResult; state: StepState }): ReactNode {
  const { payload, suspendPayload, resumePayload } = result;
  const output = "output" in result ? result.output : undefined;
  return (
    <>
      {output !== undefined && <Payload name="Output" value={output} />}
      {payload !== undefined && <Payload name="Input" value={payload} />}
      {suspendPayload !== undefined && state !== "suspended" && (
        <Payload name="Suspended with" value={suspendPayload} />
      )}
      {resumePayload !== undefined && <Payload name="Resumed with" value={resumePayload} />}
    </>
  );
}

function toIso(time: number): string {
  return new Date(time).toISOString();
}
