import type { WorkflowInfo } from "@selvedge/protocol/routes";
import { type ReactNode, useState } from "react";
import { usePageTitle } from "../page-title.ts";
import { Link } from "../router.tsx";
import { ScheduleList } from "../schedule/schedule-list.tsx";
import { Failure, Loading } from "../ui/state.tsx";
import { findStep } from "../workflow/outline.ts";
import { RunList } from "../workflow/run-list.tsx";
import { StartForm } from "../workflow/start-form.tsx";
import { StepAbout } from "../workflow/step-about.tsx";
import { StepList } from "../workflow/step-list.tsx";
import { useWorkflow } from "../workflow/use-workflow.ts";
import { useWorkflowView } from "../workflow/use-workflow-view.ts";
import { WorkflowGraph } from "../workflow/workflow-graph.tsx";

/** A workflow: what it consists of, a form to start it, and its runs. */
export function WorkflowPage({ workflowId }: { workflowId: string }): ReactNode {
  const workflow = useWorkflow(workflowId);
  const { value } = workflow;
  usePageTitle(value?.name ?? workflowId);
  return (
    <div className="page wide">
      {workflow.error && <Failure error={workflow.error} onRetry={workflow.reload} />}
      {!value && workflow.loading && <Loading what="the workflow" />}
      {value && <Contents info={value} workflowId={workflowId} />}
    </div>
  );
}

function Contents({ info, workflowId }: { info: WorkflowInfo; workflowId: string }): ReactNode {
  const [chosen, choose] = useState<string>();
  const view = useWorkflowView(info, undefined, chosen, choose);
  const node = chosen === undefined ? undefined : findStep(view.outline, chosen);
  return (
    <>
      <div className="page-head">
        <div>
          <p className="small">
            <Link href="/workflows">Workflows</Link>
          </p>
          <h1>{info.name}</h1>
          {info.description && <p>{info.description}</p>}
        </div>
      </div>
      <div className="wf-layout">
        <StepList view={view} />
        <div className="stack">
          <WorkflowGraph view={view} name={info.name} />
          {node && <StepAbout node={node} info={info.allSteps[node.key]} />}
          <div className="wf-below">
            <StartForm info={info} workflowId={workflowId} />
            <div className="stack">
              <RunList workflowId={workflowId} />
              <ScheduleList workflowId={info.id} empty={undefined} />
            </div>
          </div>
        </div>
      </div>
    </>
  );
}
