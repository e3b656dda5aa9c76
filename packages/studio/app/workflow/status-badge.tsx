import type { WorkflowRunStatus } from "@selvedge/protocol";
import type { ReactNode } from "react";
import { Badge } from "../ui/badge.tsx";
import { Icon } from "../ui/icon.tsx";
import { RUN_LOOK, STEP_LOOK, type StepState } from "./step-state.ts";

export function StepBadge({ state }: { state: StepState }): ReactNode {
  return <LookBadge look={STEP_LOOK[state]} isActive={state === "running"} />;
}

export function WorkflowRunBadge({ status }: { status: WorkflowRunStatus }): ReactNode {
  return <LookBadge look={RUN_LOOK[status]} isActive={status === "running"} />;
}

function LookBadge({
  look: { tone, icon, text },
  isActive,
}: {
  look: (typeof STEP_LOOK)[StepState];
  isActive: boolean;
}): ReactNode {
  return (
    <Badge tone={tone} pulse={isActive}>
      {!isActive && <Icon name={icon} />}
      {text}
    </Badge>
  );
}
