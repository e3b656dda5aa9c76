import type { WorkflowRunStatus } from "@selvedge/protocol";
import type { WorkflowInfo } from "@selvedge/protocol/routes";
import { useWorkflowRun } from "@selvedge/react";
import { type ReactNode, useCallback, useMemo, useState, useSyncExternalStore } from "react";
import { usePageTitle } from "../page-title.ts";
import { Link, useRouter } from "../router.tsx";
import { useStudio } from "../studio-context.tsx";
import { ConnectionBadge } from "../thread/connection-badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { findStep } from "../workflow/outline.ts";
import { RunActions } from "../workflow/run-actions.tsx";
import { RunDetail } from "../workflow/run-detail.tsx";
import { WorkflowRunBadge } from "../workflow/status-badge.tsx";
import { StepDetail } from "../workflow/step-detail.tsx";
import { StepList } from "../workflow/step-list.tsx";
import { StepOutputs } from "../workflow/step-outputs.ts";
import { RUN_LOOK } from "../workflow/step-state.ts";
import { useWorkflow } from "../workflow/use-workflow.ts";
import { useWorkflowView } from "../workflow/use-workflow-view.ts";
import { WorkflowGraph } from "../workflow/workflow-graph.tsx";
import type { WorkflowView } from "../workflow/workflow-view.ts";
import { runPath, workflowPath } from "../workflow/workflow-path.ts";

/** In the address: the run itself was chosen, not a step. */
const RUN = "*";

/** A run of a workflow, live in every tab, and every way to take part in it. */
export function WorkflowRunPage({ workflowId, runId }: { workflowId: string; runId: string }): ReactNode {
  const workflow = useWorkflow(workflowId);
  if (workflow.value) return <LiveRun info={workflow.value} workflowId={workflowId} runId={runId} />;
  return (
    <div className="page">
      {workflow.error ? (
        <Failure error={workflow.error} onRetry={workflow.reload} />
      ) : (
        <Loading what="the workflow" />
      )}
    </div>
  );
}

function LiveRun({
  info,
  workflowId,
  runId,
}: {
  info: WorkflowInfo;
  workflowId: string;
  runId: string;
}): ReactNode {
  const { client } = useStudio();
  const { query, go } = useRouter();
  const [outputs] = useState(() => new StepOutputs());
  const live = useWorkflowRun({ client, workflowId, runId, onChunk: outputs.take });
  const { run, progress, connection } = live;
  const known = useMemo(() => run && { status: run.status, steps: run.steps, progress }, [run, progress]);
  const choose = useCallback(
    (step: string) => go(runPath(workflowId, runId, { step: step === "" ? RUN : step }), { replace: true }),
    [go, workflowId, runId],
  );
  const wanted = query.get("step") ?? undefined;
  const view = useWorkflowView(info, known, wanted === RUN ? "" : wanted, choose);
  const chosen = view.chosen ?? "";
  const output = useSyncExternalStore(outputs.subscribe, () => outputs.of(chosen));
  usePageTitle(
    `${run?.status === "suspended" ? "(!) " : ""}${info.name}: ${run ? RUN_LOOK[run.status].text : "run"}`,
  );
  if (!run) {
    return (
      <div className="page">
        {live.error ? (
          <Failure error={live.error} onRetry={() => void live.refresh()} />
        ) : (
          <Loading what="the run" />
        )}
      </div>
    );
  }
  const node = findStep(view.outline, chosen);
  return (
    <div className="page wide">
      <div className="page-head">
        <div className="grow">
          <p className="small">
            <Link href="/workflows">Workflows</Link> /{" "}
            <Link href={workflowPath(workflowId)}>{info.name}</Link>
          </p>
          <h1 className="row wf-run-title">
            <span>Run</span>
            <span className="mono small muted truncate">{runId}</span>
          </h1>
        </div>
        <div className="row" aria-live="polite">
          <ConnectionBadge connection={connection} />
          <WorkflowRunBadge status={run.status} />
        </div>
        <div className="row">
          <RunActions
            run={live}
            status={run.status}
            onDelete={async () => {
              await client.getWorkflow(workflowId).deleteRunById(runId);
              go(workflowPath(workflowId));
            }}
          />
        </div>
      </div>
      <div className="wf-layout">
        <StepList view={view} head={<RunRow status={run.status} view={view} />} />
        <div className="stack">
          <WorkflowGraph view={view} name={info.name} />
          {node ? (
            <StepDetail
              node={node}
              info={info.allSteps[node.key]}
              result={view.steps[node.key]}
              state={view.states?.get(node.key) ?? "idle"}
              output={output}
              run={live}
              runStatus={run.status}
            />
          ) : (
            <RunDetail run={run} />
          )}
        </div>
      </div>
    </div>
  );
}

/** The run itself, above its steps. */
function RunRow({ status, view }: { status: WorkflowRunStatus; view: WorkflowView }): ReactNode {
  const { text, icon, tone } = RUN_LOOK[status];
  const isChosen = view.chosen === "";
  return (
    <button
      type="button"
      className="wf-step wf-run-row"
      data-tone={tone}
      data-state={status}
      data-stop=""
      tabIndex={isChosen ? 0 : -1}
      aria-current={isChosen || undefined}
      onClick={() => view.choose("")}
    >
      <Icon name={icon} />
      <span className="grow">Run</span>
      <span className="wf-step-state">{text}</span>
    </button>
  );
}
